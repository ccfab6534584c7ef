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

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.text import grammar
    from replnet.text.arithmetic import (
        Expression,
        Function,
        LARGEST_VALUE,
        Scalar,
        VALUES,
        compile_function,
        expression,
        is_template,
        template,
    )
    from replnet.text.documents import (
        Document,
        LARGEST_GRAPH,
        Mark,
        YamlNode,
        file_error,
        folders,
        map_scalars,
        node_of,
        read_text,
        read_yaml,
        shipped,
        shipped_names,
        split_lines,
    )
    from replnet.text.errors import (
        DocumentError,
        FieldError,
        FieldsError,
        InputError,
        LARGEST,
        Problem,
        SMALLEST,
        escape_unprintable,
        field_name,
        file_path,
        finite,
        many,
        one_of,
        outline,
        positive,
        printable,
        real,
        require_callable,
        scale_of,
        sequence,
        short_repr,
        squarable,
        suggestion,
        whole,
    )
    from replnet.text.extras import EXTRAS, is_installed, require_extra
    from replnet.text.files import PARQUET_ENDINGS, output_file, replacing, write_file
    from replnet.text.grammar import LAW, Term, argument, canonical, list_text, number_text, parse, quote
    from replnet.text.numbers import (
        as_cell,
        axis_text,
        brief,
        clean,
        count_text,
        csv_text,
        decimal_text,
        duration,
        equal_fields,
        finite_or_nan,
        interval_words,
        is_number,
        places,
        round_to,
        span,
        standard_errors_text,
        text,
        value_text,
        write_csv,
    )
    from replnet.text.overrides import (
        SPEED,
        call_of,
        files_of,
        override,
        put,
        records_of,
        value_of,
        with_absolute_files,
        with_parameter,
    )
    from replnet.text.plugins import load_plugins
    from replnet.text.ranges import LIKE_A_RANGE, Place, is_range, points_of, require
    from replnet.text.units import (
        MICROSECONDS,
        WORDS,
        convert_times,
        dimension_of,
        in_unit,
        name_units,
        rate_in,
        time_in,
        without_units,
    )
    from replnet.text.validation import Fault, editor_schema, problem_at, validate, validate_by
    from replnet.text.yaml_writer import yaml_text
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
