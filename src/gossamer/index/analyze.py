"""Text -> terms: what a word is, for pages, queries, the word table and every back-end alike.

A word is a run of letters, digits and the marks on them. Its term is the word in lower case (Unicode case folding),
with accents taken off Latin and Greek letters, then stemmed if the language has a stemmer. Chinese, Japanese, Korean
and other scripts that are written without blanks become overlapping pairs of characters. Stop words stay, and are
marked.

How it is fast: a text is cut at ASCII separators by C code, and each piece is looked up in a memo of pieces seen
before. Only a piece that is new is looked at by Python: half the time of a regular expression over every word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import tantivy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from py3langid.langid import LanguageIdentifier

CJK = "cjk"
NO_LANGUAGE = ""  # a language without a stemmer, or unknown

# Primary subtag (BCP 47, ISO 639-1 and -2) -> the analysis.
LANGUAGES = {
    "ar": "arabic", "ara": "arabic", "da": "danish", "dan": "danish", "nl": "dutch", "nld": "dutch", "dut": "dutch",
    "en": "english", "eng": "english", "fi": "finnish", "fin": "finnish", "fr": "french", "fra": "french",
    "fre": "french", "de": "german", "deu": "german", "ger": "german", "el": "greek", "ell": "greek", "gre": "greek",
    "hu": "hungarian", "hun": "hungarian", "it": "italian", "ita": "italian", "no": "norwegian", "nor": "norwegian",
    "nb": "norwegian", "nob": "norwegian", "nn": "norwegian", "nno": "norwegian", "pt": "portuguese",
    "por": "portuguese", "ro": "romanian", "ron": "romanian", "rum": "romanian", "mo": "romanian", "ru": "russian",
    "rus": "russian", "es": "spanish", "spa": "spanish", "sv": "swedish", "swe": "swedish", "ta": "tamil",
    "tam": "tamil", "tr": "turkish", "tur": "turkish", "zh": CJK, "zho": CJK, "chi": CJK, "ja": CJK, "jpn": CJK,
    "ko": CJK, "kor": CJK,
}  # fmt: skip
STEMMERS = frozenset(LANGUAGES.values()) - {CJK}
STOP_LISTS = STEMMERS - {"english", "arabic", "greek", "romanian", "tamil", "turkish"}  # the lists that Tantivy has
# Tantivy's English list has 33 words and no pronouns or question words; this is Snowball's.
_ENGLISH_STOPS = (
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself they them their theirs themselves what which who whom this that these those am is are "
    "was were be been being have has had having do does did doing would should could ought a an the and but if or "
    "because as until while of at by for with about against between into through during before after above below "
    "to from up down in out on off over under again further then once here there when where why how all any both "
    "each few more most other some such no nor not only own same so than too very can will just must may "
)
ENGLISH_STOPS = frozenset(_ENGLISH_STOPS.split())

LONGEST_TERM = 64  # characters; what is longer is no word that anybody types, and only its head counts
LONGEST_CACHED_PIECE = 64  # bytes; longer pieces are text without blanks, and seldom come again
# Pieces of one language, 25 MB with their numbers; then it starts anew. Ten thousand documentation pages have 41,000.
MOST_CACHED_PIECES = 100_000

# What is not an ASCII separator: lower-case letters and digits, apostrophes (`don't`), everything beyond ASCII.
_SEPARATOR_TABLE = bytes(
    byte if byte >= 0x80 or byte == ord("'") else ord(chr(byte).lower()) if chr(byte).isalnum() else ord(" ")
    for byte in range(256)
)
RUN_BREAK = b"\x02"  # stands between the runs of a page that is cut as a whole; no text has it
_RUN_SEPARATOR_TABLE = _SEPARATOR_TABLE[:2] + RUN_BREAK + _SEPARATOR_TABLE[3:]
# Two that are no ASCII, but frequent enough that pieces should end there too: no-break and zero-width spaces.
_SEPARATORS = tuple(character.encode() for character in "\xa0\u200b")
# Marks that belong to the letter before them (category M); Python's \w leaves them out. Scripts beyond this have none.
_MARKS = "".join(chr(code) for code in range(0x300, 0x1E00) if unicodedata.category(chr(code)).startswith("M"))
_APOSTROPHES = "'\u2019"
WITHIN_WORD = f"{_APOSTROPHES}\xad{_MARKS}"  # what may stand between the letters of a word
_LETTERS = rf"[^\W_][^\W_{_MARKS}]*(?:[{_MARKS}\xad]+[^\W_]*)*"
WORD = re.compile(rf"{_LETTERS}(?:[{_APOSTROPHES}]{_LETTERS})*")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
_UNSPACED += "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"  # Thai, Lao, Myanmar, Khmer, kana, Han, Hangul
_SCRIPT_PARTS = re.compile(rf"[{_UNSPACED}{_MARKS}]+|[^{_UNSPACED}]+")
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_NOT_IN_TERMS = re.compile(rf"[^\w{_MARKS}]|_")
_ACCENTS = re.compile("(?<=[a-z\u03b1-\u03c9])[\u0300-\u036f]+")  # not on Cyrillic: й is no и
_UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe",
                               "þ": "th", "\u0131": "i"})  # fmt: skip
_SAMPLE_LENGTH = 400  # characters that the language is told from: 0.1 ms
_LEAST_SAMPLE_LENGTH = 40  # below that it is a guess
_ENGLISH_WORDS = (
    "the and that this with which from are been its your their they these those when where what how not but if "
    "have has were should would could into than then there "
)
_ONLY_ENGLISH = frozenset(_ENGLISH_WORDS.encode().split())
_ENGLISH_SHARE = 0.08  # of the words of a text plainly in English are such; English prose has 0.2
_LEAST_ENGLISH_WORDS = 5  # different ones
_PIECES_SAMPLED = 500
_LEAST_PROBABILITY = 0.8  # probability below which no language is better than the likeliest


class Token(NamedTuple):
    """A word where it stands in a text."""

    start: int
    end: int
    term: str
    stop: bool


class PieceWord(NamedTuple):
    """A word in a piece of text."""

    term: str
    stop: bool
    form: str  # as it is written, in lower case


class _TermCache(dict[bytes, str]):
    """Pieces of text seen before -> their terms, joined by blanks."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self._analyzer = analyzer
        self.reset()

    def reset(self) -> None:
        self.clear()
        self[RUN_BREAK] = RUN_BREAK.decode()

    def __missing__(self, piece: bytes) -> str:
        return self._analyzer.cache_piece(piece, self._analyzer.piece_words(piece))


class Analyzer:
    """How one language is analysed; get it from `analysis`."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._cache = _TermCache(self)
        self._stemmer = _build_filter(tantivy.Filter.stemmer(language)) if language in STEMMERS else None
        self._stop_filter = _build_filter(tantivy.Filter.stopword(language)) if language in STOP_LISTS else None

    def terms(self, text: str) -> str:
        """The terms of a text in order, joined by blanks."""
        return self.terms_of_pieces(split_pieces(text))

    def terms_of_pieces(self, pieces: list[bytes]) -> str:
        """The same of a text that is cut already."""
        return " ".join(map(self._cache.__getitem__, pieces)).strip()

    def tokens(self, text: str) -> list[Token]:
        """The words of a text where they stand. As many and the same as in `terms`, slower."""
        return [
            Token(match.start() + start, match.start() + end, term, stop)
            for match in WORD.finditer(text)
            for start, end, term, stop in self._word_tokens(match[0])
        ]

    def piece_words(self, piece: bytes) -> list[PieceWord]:
        """The words of a piece."""
        if piece.isalnum():  # plain ASCII: most of them
            word = piece.decode()
            return [PieceWord(*self._plain_term(word, word), word)]
        return [
            PieceWord(term, stop, word[start:end].casefold())
            for word in WORD.findall(piece.decode())
            for start, end, term, stop in self._word_tokens(word)
        ]

    def cache_piece(self, piece: bytes, words: list[PieceWord]) -> str:
        """Remember what a piece is made of; returns its terms, joined by blanks."""
        terms = " ".join([word.term for word in words])
        if len(piece) <= LONGEST_CACHED_PIECE:
            if len(self._cache) >= MOST_CACHED_PIECES:
                self._cache.reset()
            self._cache[piece] = terms
        return terms

    def _word_tokens(self, word: str) -> Iterator[tuple[int, int, str, bool]]:
        if _HAS_UNSPACED.search(word):
            for part in _SCRIPT_PARTS.finditer(word):
                if _HAS_UNSPACED.match(part[0]):
                    yield from _bigrams(part[0], part.start())
                else:
                    yield from self._spaced_tokens(part[0], part.start())
        else:
            yield from self._spaced_tokens(word, 0)

    def _spaced_tokens(self, word: str, offset: int) -> Iterator[tuple[int, int, str, bool]]:
        """A word of a script with blanks. English keeps what apostrophes join, but for 's; others elide (l'homme)."""
        if self.language != "english":
            for match in re.finditer(f"[^{_APOSTROPHES}]+", word):
                yield from self._plain_token(match[0], offset + match.start(), offset + match.end())
            return
        bare = re.sub(f"[{_APOSTROPHES}][sS]$", "", word)
        yield from self._plain_token(re.sub(f"[{_APOSTROPHES}]", "", bare), offset, offset + len(word))

    def _plain_token(self, word: str, start: int, end: int) -> Iterator[tuple[int, int, str, bool]]:
        low = unicodedata.normalize("NFKC", word.replace("\xad", "")).casefold()
        bare = fold_accents(low)
        if bare:
            yield start, end, *self._plain_term(low, bare)

    def _plain_term(self, low: str, bare: str) -> tuple[str, bool]:
        """The term of a word in lower case, with and without accents, and whether it is a stop word."""
        stop = self.is_stop(low) or (bare != low and self.is_stop(bare))
        stemmed = self._stemmer.analyze(bare) if self._stemmer is not None and not stop else None
        return (stemmed[0] if stemmed else bare)[:LONGEST_TERM], stop

    def is_stop(self, word: str) -> bool:
        """Whether a word in lower case is one that says nothing by itself."""
        if self.language == "english":
            return word in ENGLISH_STOPS
        return self._stop_filter is not None and not self._stop_filter.analyze(word)


def split_pieces(text: str) -> list[bytes]:
    """A text cut at ASCII separators, in lower case as far as ASCII goes."""
    return _split(text, _SEPARATOR_TABLE)


def split_runs(texts: Sequence[str]) -> list[bytes]:
    """Several texts cut at once, with a BREAK between each two: a page has dozens of runs, and calls cost."""
    apart = f" {RUN_BREAK.decode()} "
    whole = apart.join(texts)
    if whole.count(RUN_BREAK.decode()) >= len(texts):  # one has it in itself
        whole = apart.join(text.replace(RUN_BREAK.decode(), " ") for text in texts)
    return _split(whole, _RUN_SEPARATOR_TABLE)


def split_terms_by_run(terms: str) -> list[str]:
    """The terms of each text, of the terms of what was cut by `cut_runs`."""
    return [run.strip() for run in terms.split(RUN_BREAK.decode())]


def _split(text: str, table: bytes) -> list[bytes]:
    data = text.encode("utf-8", "replace")
    if not text.isascii():
        for separator in _SEPARATORS:
            data = data.replace(separator, b" ")
    return data.translate(table).split()


def fold_accents(word: str) -> str:
    """A word in lower case without accents on Latin and Greek letters, and without what is no part of words."""
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", word).translate(_UNDECOMPOSED))
    # Russian writes yo as ye as well
    return _NOT_IN_TERMS.sub("", unicodedata.normalize("NFC", bare)).replace("\u0451", "\u0435")


def has_unspaced_script(text: str) -> bool:
    """Whether something in it is of a script without blanks, and so goes by pairs of characters."""
    return _HAS_UNSPACED.search(text) is not None


def _bigrams(run: str, offset: int) -> Iterator[tuple[int, int, str, bool]]:
    """Characters of a script without blanks, two and two; one alone stays alone."""
    whole = [(match.start() + offset, match.end() + offset, _NOT_IN_TERMS.sub("", unicodedata.normalize("NFKC", match[0])))
             for match in re.finditer(rf"[{_UNSPACED}](?:(?<=.)[{_MARKS}]+)?|[{_MARKS}]+", run)]  # fmt: skip
    if len(whole) == 1:
        yield (*whole[0], False)
    for (start, _, first), (_, end, second) in pairwise(whole):
        yield start, end, first + second, False


def _build_filter(filter_: tantivy.Filter) -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(filter_).build()


@cache
def get_analyzer(language: str) -> Analyzer:
    """The analysis of a language: one of `LANGUAGES`, "cjk", or "" for none."""
    return Analyzer(language)


# -- which language ----------------------------------------------------------------------------------------------------


def detect_language(declared: str, texts: Sequence[str], pieces: Sequence[bytes] = ()) -> str:
    """The analysis for a page: by the language it declares, else by what its longest text is written in.

    `cut` is the page in pieces, where these are at hand.
    """
    subtag = re.split("[-_,; ]", declared.strip().lower(), maxsplit=1)[0]
    if 2 <= len(subtag) <= 3 and subtag.isalpha():
        return LANGUAGES.get(subtag, NO_LANGUAGE)
    sample = max(texts, key=len, default="")[:_SAMPLE_LENGTH]
    if _is_plainly_english(pieces[:_PIECES_SAMPLED]) or _is_plainly_english(split_pieces(sample)):
        return "english"
    return _classify(sample) if len(sample) >= _LEAST_SAMPLE_LENGTH else NO_LANGUAGE


def _is_plainly_english(pieces: Sequence[bytes]) -> bool:
    """Whether there are many words that only English has: most pages are told by that, in a tenth of the time."""
    english = [piece for piece in pieces if piece in _ONLY_ENGLISH]
    return len(english) >= len(pieces) * _ENGLISH_SHARE and len(set(english)) >= _LEAST_ENGLISH_WORDS


def _classify(sample: str) -> str:
    language, probability = _identifier().classify(sample)
    return LANGUAGES.get(language, NO_LANGUAGE) if probability >= _LEAST_PROBABILITY else NO_LANGUAGE


@cache
def _identifier() -> LanguageIdentifier:
    """The detector; reading its model takes half a second, so only when a page does not say its language."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
