"""Bytes -> Page: what is in a response, parsed in processes with limited memory and time.

In: `model.ParseJob`, the body of a response with some of its headers. Out: `model.Page`.

    pool              ParserPool: the parser processes, as the coordinator sees them; imports no parser library
    parser_process    the process: reads jobs, limits itself, answers
    options           ParseOptions: what every parser gets at its start
    page_parser       PageParser: decode, detect the type, read, pack
    content_encoding  decode_body: Content-Encoding undone, under a size limit
    charset           convert_to_utf8: from any character encoding
    readers/          HTML, XML and PDF -> ParsedDocument
"""
