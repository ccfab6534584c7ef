"""What users write, and how they are told what is wrong with it: errors with places, one grammar, YAML documents.

In it:

    errors       what is wrong with an input, where it stands, and what would be right; numbers that are refused so
    grammar      the one grammar of what users write on a line: laws, weights, named values, metrics and demands
    numbers      numbers and other values as text, alike in every table, page and picture; tables as CSV
    units        times and rates with a unit, in the one that a network counts time in
    ranges       ranges of numbers such as 1:9 and 10:500:30log
    arithmetic   what arithmetic is worth: numbers from named values, templates with ${ }, arrays from x
    documents    files of the user, and those that come with replnet: YAML as data that remembers where it stands
    yaml_reader  YAML 1.2 events to nodes with positions
    yaml_writer  plain data as the YAML that a user would write
    extras       libraries that not every installation has, and how to get them
    plugins      what other packages add under entry points
    overrides    `-s key=value`: one field of a document replaced from the command line
    validation   plain data checked by a pydantic model; what pydantic says becomes problems with field, wrong and right
"""
