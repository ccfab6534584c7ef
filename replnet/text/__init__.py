"""The texts of users, and the errors that say what is wrong with them: one grammar, YAML documents, places.

In it:

    errors       errors of inputs: what is wrong, where, and what would be right; checks of numbers that raise them
    grammar      the one grammar of what users write on a line: laws, weights, named values, metrics and demands
    numbers      numbers and other values as text, alike in every table, page and picture; tables as CSV
    units        times and rates with a unit, converted to the unit of a network
    ranges       ranges of numbers such as 1:9 and 10:500:30log
    arithmetic   evaluation of arithmetic: numbers from named values, templates with ${ }, arrays from x
    files        files that are written for users: each whole or left as it was, and never through a link
    documents    files of the user, and those that come with replnet: YAML as data with positions
    yaml_reader  YAML 1.2 events to nodes with positions
    yaml_writer  plain data as the YAML that a user would write
    extras       optional libraries, and how to install them
    plugins      additions of other packages under entry points
    overrides    `-s key=value`: replace one field of a document from the command line
    validation   validation of plain data by a pydantic model, with problems as field, wrong and right
"""
