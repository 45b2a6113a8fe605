"""The character encoding of a document: by byte order mark, else header, else its own declaration, else detection.

Labels have the meaning that browsers give them (WHATWG Encoding §4.2): `latin1` is windows-1252, `gb2312` is gb18030,
`euc-kr` is cp949. Text is decoded, never normalized. All later steps see UTF-8.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_PRESCAN_BYTES = 1024  # WHATWG HTML §13.2.3.2: a declaration counts within the first 1,024 bytes
_MAX_CONTENT_TYPE = 1000  # characters of a header that are searched
_SAMPLE_BYTES = 64 << 10  # bytes that detection reads, in about half a millisecond


class Charset(NamedTuple):
    """A character encoding: its name in the store, and Python's codec."""

    name: str
    codec: str


UTF8 = Charset("utf-8", "utf-8")
_WINDOWS_1252 = Charset("windows-1252", "cp1252")

# Name, codec, labels without separators. First the list of WHATWG Encoding §4.2, then others that old pages declare.
# Browsers refuse iso-2022-kr and hz-gb-2312, which can hide scripts; Gossamer runs no scripts.
_ENCODINGS = """
utf-8            utf-8          utf8 unicode11utf8 unicode20utf8 xunicode20utf8
ibm866           cp866          ibm866 cp866 866 csibm866
iso-8859-2       iso8859_2      iso88592 csisolatin2 isoir101 iso885921987 l2 latin2
iso-8859-3       iso8859_3      iso88593 csisolatin3 isoir109 iso885931988 l3 latin3
iso-8859-4       iso8859_4      iso88594 csisolatin4 isoir110 iso885941988 l4 latin4
iso-8859-5       iso8859_5      iso88595 csisolatincyrillic cyrillic isoir144 iso885951988
iso-8859-6       iso8859_6      iso88596 arabic asmo708 csiso88596e csiso88596i csisolatinarabic ecma114 iso88596e \
iso88596i isoir127 iso885961987
iso-8859-7       iso8859_7      iso88597 csisolatingreek ecma118 elot928 greek greek8 isoir126 iso885971987 suneugreek
iso-8859-8       iso8859_8      iso88598 csiso88598e csisolatinhebrew hebrew iso88598e isoir138 iso885981988 visual
iso-8859-8-i     iso8859_8      iso88598i csiso88598i logical
iso-8859-10      iso8859_10     iso885910 csisolatin6 isoir157 l6 latin6
iso-8859-13      iso8859_13     iso885913
iso-8859-14      iso8859_14     iso885914
iso-8859-15      iso8859_15     iso885915 csisolatin9 l9 latin9
iso-8859-16      iso8859_16     iso885916
koi8-r           koi8_r         koi8r cskoi8r koi koi8
koi8-u           koi8_u         koi8u koi8ru
macintosh        mac_roman      macintosh mac csmacintosh xmacroman macroman
windows-874      cp874          windows874 cp874 dos874 iso885911 tis620
windows-1250     cp1250         windows1250 cp1250 xcp1250
windows-1251     cp1251         windows1251 cp1251 xcp1251
windows-1252     cp1252         windows1252 cp1252 xcp1252 ansix341968 ascii usascii cp819 csisolatin1 ibm819 iso88591 \
isoir100 iso885911987 l1 latin1 xuserdefined
windows-1253     cp1253         windows1253 cp1253 xcp1253
windows-1254     cp1254         windows1254 cp1254 xcp1254 csisolatin5 iso88599 isoir148 iso885991989 l5 latin5
windows-1255     cp1255         windows1255 cp1255 xcp1255
windows-1256     cp1256         windows1256 cp1256 xcp1256
windows-1257     cp1257         windows1257 cp1257 xcp1257
windows-1258     cp1258         windows1258 cp1258 xcp1258
x-mac-cyrillic   mac_cyrillic   xmaccyrillic xmacukrainian maccyrillic
gbk              gb18030        gbk gb2312 chinese csgb2312 csiso58gb231280 gb231280 isoir58 xgbk cp936
gb18030          gb18030        gb18030
big5             big5hkscs      big5 big5hkscs cnbig5 csbig5 xxbig5 cp950
euc-jp           euc_jp         eucjp cseucpkdfmtjapanese xeucjp
iso-2022-jp      iso2022_jp_ext iso2022jp csiso2022jp
shift_jis        cp932          shiftjis sjis xsjis csshiftjis ms932 cp932 mskanji windows31j
euc-kr           cp949          euckr cseuckr csksc56011987 isoir149 korean ksc56011987 ksc56011989 ksc5601 windows949 \
cp949 uhc
utf-16be         utf-16-be      utf16be unicodefffe
utf-16le         utf-16-le      utf16le utf16 csunicode iso10646ucs2 ucs2 unicode unicodefeff
utf-32be         utf-32-be      utf32be
utf-32le         utf-32-le      utf32le utf32
ibm437           cp437          ibm437 cp437
ibm850           cp850          ibm850 cp850
ibm852           cp852          ibm852 cp852
ibm855           cp855          ibm855 cp855
ibm857           cp857          ibm857 cp857
ibm862           cp862          ibm862 cp862
x-mac-ce         mac_latin2     xmacce xmaccentraleurroman maclatin2
x-mac-greek      mac_greek      xmacgreek macgreek
x-mac-turkish    mac_turkish    xmacturkish macturkish
johab            johab          johab
iso-2022-kr      iso2022_kr     iso2022kr csiso2022kr
hz-gb-2312       hz             hzgb2312
"""
_BY_LABEL = {
    label: Charset(name, codec)
    for name, codec, *labels in map(str.split, _ENCODINGS.strip().split("\n"))
    for label in labels
}
_SEPARATORS = re.compile(r"[\s_.:-]+")

_BYTE_ORDER_MARKS = (  # the mark of UTF-32 begins with that of UTF-16, so it comes first
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, _BY_LABEL["utf32le"]),
    (codecs.BOM_UTF32_BE, _BY_LABEL["utf32be"]),
    (codecs.BOM_UTF16_LE, _BY_LABEL["utf16le"]),
    (codecs.BOM_UTF16_BE, _BY_LABEL["utf16be"]),
)

# One parameter of a Content-Type; a quoted value may hold ";" (RFC 9110 §5.6.6).
_PARAMETER = re.compile(r""";\s*([^\s=;,"]+)=("(?:[^"\\]|\\.)*"|[^\s;,"]*)(?=\s*(?:[;,]|$))""")
_XML_DECLARATION = re.compile(rb"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._:-]+)""")
# Atomic groups: an open quote costs one search, not many.
_MARKUP = re.compile(
    rb"""<!--.*?(?:-->|\Z)|<(meta(?=[\s/])|[/!?]?[a-z])((?>[^>"']+|"[^"]*"|'[^']*')*+)>""", re.IGNORECASE | re.DOTALL
)
_ATTRIBUTE = re.compile(rb"""([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?""")
_CONTENT_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([^\s;"']+)""", re.IGNORECASE)


def charset_by_label(label: str) -> Charset | None:
    """Return the encoding of a label, None for an unknown one. Case and separators do not matter (`Latin-1`)."""
    return _BY_LABEL.get(_SEPARATORS.sub("", label.lower()))


def convert_to_utf8(body: bytes, content_type: str) -> tuple[bytes, str]:
    """Return the text in UTF-8 and the name of its encoding. Bytes in UTF-8 stay as they are."""
    mark, charset = charset_from_bom(body)
    if charset is None:
        charset = charset_from_header(content_type) or charset_from_document(body) or detect_charset(body)
    body = body[len(mark) :]
    if charset.codec == "utf-8":
        return body, charset.name
    return body.decode(charset.codec, "replace").encode(), charset.name


def charset_from_bom(body: bytes) -> tuple[bytes, Charset | None]:
    """Return the byte order mark at the start, and its encoding."""
    return next((mark for mark in _BYTE_ORDER_MARKS if body.startswith(mark[0])), (b"", None))


def charset_from_header(content_type: str) -> Charset | None:
    """Return the encoding in a Content-Type header."""
    if "charset" not in content_type.lower():
        return None
    for name, value in _PARAMETER.findall(";" + content_type[:_MAX_CONTENT_TYPE]):
        if name.lower() == "charset" and (charset := charset_by_label(value.strip('"'))):
            return charset
    return None


def charset_from_document(body: bytes) -> Charset | None:
    """Return the encoding in an XML declaration or in a `<meta>` near the start."""
    start = body[:_PRESCAN_BYTES]
    if declaration := _XML_DECLARATION.match(start):
        return _ascii_compatible_charset(declaration[1])
    for tag in _MARKUP.finditer(start):
        if (tag[1] or b"").lower() == b"meta" and (charset := _charset_from_meta(tag[2])):
            return charset
    return None


def _charset_from_meta(tag: bytes) -> Charset | None:
    attributes: dict[bytes, bytes] = {}
    for name, *values in _ATTRIBUTE.findall(tag):
        attributes.setdefault(name.lower(), b"".join(values))
    if b"charset" in attributes:
        return _ascii_compatible_charset(attributes[b"charset"])
    if b"name" in attributes or b"property" in attributes:  # a description may contain "charset="
        return None
    match = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
    return _ascii_compatible_charset(match[1]) if match else None


def _ascii_compatible_charset(label: bytes) -> Charset | None:
    """Return the encoding of a label found in ASCII text, so UTF-16 and UTF-32 mean UTF-8 (WHATWG HTML)."""
    charset = charset_by_label(label.decode("latin-1"))
    return UTF8 if charset and charset.name.startswith(("utf-16", "utf-32")) else charset


def detect_charset(body: bytes) -> Charset:
    """Return the likely encoding of a document without declaration: UTF-8 by proof, else a guess from a sample."""
    sample = body[:_SAMPLE_BYTES]
    if b"\x1b" not in sample and b"\0" not in sample:  # ISO-2022 and UTF-16 can be valid UTF-8
        try:
            codecs.utf_8_decode(body, "strict", False)  # final=False accepts a character cut off at the end
        except UnicodeDecodeError:
            pass
        else:
            return UTF8
    import chardet  # noqa: PLC0415  30 MB that most crawls do not need

    guess = chardet.detect(sample, prefer_superset=False, compat_names=True)["encoding"]
    return (charset_by_label(guess) if guess else None) or _WINDOWS_1252
