"""What the papers' formulas predict, computed from laws alone.

Every copy has an information age X, the time since its data left the source. A
topology is an operation on X (`information_age`, `cluster`, `superposition`),
freshness is one integral of its tail (`freshness`), and sizing inverts it
(`service`).
"""
