"""What users write, and how they are told what is wrong with it: errors with places, one grammar, YAML documents

In it:

    arithmetic   what trees of `syntax` are worth: checked against the signs and functions of their kind, and evaluated
    checks       numbers that enter a law: refused with the field's name and what would be right
    csv_table    tables as CSV that a spreadsheet takes as data
    documents    files of the user: text, and YAML 1.2 as data that remembers where every key and value stands
    errors       what is wrong with an input, where it stands, and what would be right
    file_names   names of files in a document, made absolute, so that it means the same wherever it is kept
    grammar      the one grammar of what users write on a line: laws, weights, named values, metrics and demands
    numbers      numbers and other values as text, alike in every table, page and picture
    overrides    `-s key=value`: one field of a document replaced from the command line
    shipped      networks that come with replnet, found by name
    validation   plain data checked by a pydantic model; what pydantic says becomes problems with field, wrong and right
    yaml_reader  YAML 1.2 events to nodes with positions
"""
