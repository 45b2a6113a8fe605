"""Text -> terms, the same for pages, queries, the word table and every back-end.

A word is a run of letters, digits and their marks. Its term is the word after Unicode case folding, without accents on
Latin and Greek letters. Languages with a stemmer also reduce it to its stem. Scripts without spaces (Chinese, Japanese,
Korean and others) become overlapping pairs of characters. Stop words stay in the text and carry a flag.

For speed, C code cuts a text at ASCII separators, and a cache holds the terms of each piece. Python analyses only new
pieces. This takes half the time of a regular expression over every word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import tantivy

from gossamer.basics.words import MARKS as _MARKS
from gossamer.basics.words import UNSPACED as _UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from py3langid.langid import LanguageIdentifier

CJK = "cjk"
NO_LANGUAGE = ""  # a language without a stemmer, or unknown

# Primary subtag (BCP 47, ISO 639-1 and -2) -> language of the analysis.
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
STOP_LISTS = STEMMERS - {"english", "arabic", "greek", "romanian", "tamil", "turkish"}  # Tantivy has these lists
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

LONGEST_TERM = 64  # characters; nobody types longer words, so a longer term is cut
LONGEST_CACHED_PIECE = 64  # bytes; longer pieces are text without spaces and seldom repeat
# Pieces of one language, 25 MB with their numbers; a full cache starts empty. Ten thousand documentation pages have
# 41,000 pieces.
MOST_CACHED_PIECES = 100_000

# Bytes that stay: letters (in lower case), digits, apostrophes (`don't`) and all bytes beyond ASCII. Others separate.
_SEPARATOR_TABLE = bytes(
    byte if byte >= 0x80 or byte == ord("'") else ord(chr(byte).lower()) if chr(byte).isalnum() else ord(" ")
    for byte in range(256)
)
RUN_BREAK = b"\x02"  # separates the runs of a page that is cut in one call; `split_runs` removes it from texts
_RUN_SEPARATOR_TABLE = _SEPARATOR_TABLE[:2] + RUN_BREAK + _SEPARATOR_TABLE[3:]
# Frequent separators beyond ASCII: no-break and zero-width spaces.
_SEPARATORS = tuple(character.encode() for character in "\xa0\u200b")
_APOSTROPHES = "'\u2019"
WITHIN_WORD = f"{_APOSTROPHES}\xad{_MARKS}"  # characters allowed between the letters of a word
_LETTERS = rf"[^\W_][^\W_{_MARKS}]*(?:[{_MARKS}\xad]+[^\W_]*)*"
WORD = re.compile(rf"{_LETTERS}(?:[{_APOSTROPHES}]{_LETTERS})*")
_SCRIPT_PARTS = re.compile(rf"[{_UNSPACED}{_MARKS}]+|[^{_UNSPACED}]+")
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_NOT_IN_TERMS = re.compile(rf"[^\w{_MARKS}]|_")
_ACCENTS = re.compile("(?<=[a-z\u03b1-\u03c9])[\u0300-\u036f]+")  # not on Cyrillic, where й and и are different letters
_UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe",
                               "þ": "th", "\u0131": "i"})  # fmt: skip
SAMPLE_LENGTH = 400  # characters that the detector reads; takes 0.1 ms
_LEAST_SAMPLE_LENGTH = 40  # characters; the detector guesses on shorter samples
_ENGLISH_WORDS = (
    "the and that this with which from are been its your their they these those when where what how not but if "
    "have has were should would could into than then there "
)
ONLY_ENGLISH = _ENGLISH_WORDS.encode()
_ONLY_ENGLISH_PIECES = frozenset(ONLY_ENGLISH.split())
_ENGLISH_SHARE = 0.08  # least share of these words in a text that is plainly English; prose has 0.2
_LEAST_ENGLISH_WORDS = 5  # different words
SAMPLE_PIECES = 500
_LEAST_PROBABILITY = 0.8  # below it, no language is a better choice than the likeliest


class Token(NamedTuple):
    """A word and its position in a text."""

    start: int
    end: int
    term: str
    stop: bool


class PieceWord(NamedTuple):
    """A word in a piece of text."""

    term: str
    stop: bool
    form: str  # as written, in lower case


class _WordFilter:
    """One of Tantivy's filters."""

    def __init__(self, filter_: tantivy.Filter) -> None:
        one_word, words = tantivy.Tokenizer.raw(), tantivy.Tokenizer.whitespace()
        self.of_word = tantivy.TextAnalyzerBuilder(one_word).filter(filter_).build().analyze
        self._words = tantivy.TextAnalyzerBuilder(words).filter(filter_).build()

    def of_words(self, words: Sequence[str]) -> list[str]:
        """Return the words that the filter makes of words without blanks, in one call."""
        return self._words.analyze(" ".join(words))


class _TermCache(dict[bytes, str]):
    """Cache of pieces of text -> their terms, joined by spaces."""

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
    """The analysis of one language; get it from `get_analyzer`."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._cache = _TermCache(self)
        self._stemmer = _WordFilter(tantivy.Filter.stemmer(language)) if language in STEMMERS else None
        self._stop_filter = _WordFilter(tantivy.Filter.stopword(language)) if language in STOP_LISTS else None

    def terms(self, text: str) -> str:
        """Return the terms of a text in order, joined by spaces."""
        return self.terms_of_pieces(split_pieces(text))

    def terms_of_pieces(self, pieces: list[bytes]) -> str:
        """Return the terms of a text that `split_pieces` or `split_runs` cut."""
        return " ".join(map(self._cache.__getitem__, pieces)).strip()

    def plain_term(self, word: str) -> str:
        """Return the term of an ASCII word, mostly from the cache."""
        return self._cache[word.lower().encode()]

    def tokens(self, text: str) -> list[Token]:
        """Return the words of a text with their positions; the same terms as `terms`, but slower."""
        if text.isascii() and text.isalnum():  # one plain word
            low = text.lower()
            return [Token(0, len(text), *self._plain_term(low, low))]
        return [
            Token(match.start() + start, match.start() + end, term, stop)
            for match in WORD.finditer(text)
            for start, end, term, stop in self._word_tokens(match[0])
        ]

    def piece_words(self, piece: bytes) -> list[PieceWord]:
        """Return the words of a piece."""
        if piece.isalnum():  # plain ASCII, like most pieces
            word = piece.decode()
            return [PieceWord(*self._plain_term(word, word), word)]
        return [
            PieceWord(term, stop, word[start:end].casefold())
            for word in WORD.findall(piece.decode())
            for start, end, term, stop in self._word_tokens(word)
        ]

    def words_of_pieces(self, pieces: Sequence[bytes]) -> list[list[PieceWord]]:
        """Return the words of each piece. The stemmer takes all plain words in one call, because calls cost time."""
        plain = [piece.decode() for piece in pieces if piece.isalnum()]
        plain_words = iter(self._plain_words(plain))
        return [[next(plain_words)] if piece.isalnum() else self.piece_words(piece) for piece in pieces]

    def _plain_words(self, words: list[str]) -> Iterator[PieceWord]:
        """Return words in lower case as `_plain_term` does, one for each."""
        if self.language == "english":
            stops: AbstractSet[str] = ENGLISH_STOPS
        else:
            stops = set() if self._stop_filter is None else set(words).difference(self._stop_filter.of_words(words))
        stems = words if self._stemmer is None else self._stemmer.of_words(words)
        return (
            PieceWord((word if word in stops else stem)[:LONGEST_TERM], word in stops, word)
            for word, stem in zip(words, stems, strict=True)
        )

    def cache_piece(self, piece: bytes, words: list[PieceWord]) -> str:
        """Cache the terms of a piece; return them, joined by spaces."""
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
        """Yield the tokens of a word in a script with spaces.

        English words stay whole at an apostrophe and lose only 's. Other languages elide there (l'homme).
        """
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
        """Return the term of a lower-case word, given with and without accents, and whether it is a stop word."""
        stop = self.is_stop(low) or (bare != low and self.is_stop(bare))
        stemmed = self._stemmer.of_word(bare) if self._stemmer is not None and not stop else None
        return (stemmed[0] if stemmed else bare)[:LONGEST_TERM], stop

    def is_stop(self, word: str) -> bool:
        """Return whether a lower-case word is a stop word."""
        if self.language == "english":
            return word in ENGLISH_STOPS
        return self._stop_filter is not None and not self._stop_filter.of_word(word)


def split_pieces(text: str) -> list[bytes]:
    """Cut a text at ASCII separators, with ASCII letters in lower case."""
    return _split(text, _SEPARATOR_TABLE)


def split_runs(texts: Sequence[str]) -> list[bytes]:
    """Cut several texts in one call, with a RUN_BREAK between two: a page has dozens of runs, and calls cost time."""
    separator = f" {RUN_BREAK.decode()} "
    whole = separator.join(texts)
    if whole.count(RUN_BREAK.decode()) >= len(texts):  # a text contains the break itself
        whole = separator.join(text.replace(RUN_BREAK.decode(), " ") for text in texts)
    return _split(whole, _RUN_SEPARATOR_TABLE)


def split_terms_by_run(terms: str) -> list[str]:
    """Return the terms of each text that `split_runs` joined."""
    return [run.strip() for run in terms.split(RUN_BREAK.decode())]


def _split(text: str, table: bytes) -> list[bytes]:
    data = text.encode("utf-8", "replace")
    if not text.isascii():
        for separator in _SEPARATORS:
            data = data.replace(separator, b" ")
    return data.translate(table).split()


def fold_accents(word: str) -> str:
    """Return a lower-case word without accents on Latin and Greek letters, and without separators."""
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", word).translate(_UNDECOMPOSED))
    # Russian texts often leave out the dots of yo, which makes it ye.
    return _NOT_IN_TERMS.sub("", unicodedata.normalize("NFC", bare)).replace("\u0451", "\u0435")


def has_unspaced_script(text: str) -> bool:
    """Return whether a text has characters of a script without spaces, which become pairs of characters."""
    return _HAS_UNSPACED.search(text) is not None


def _bigrams(run: str, offset: int) -> Iterator[tuple[int, int, str, bool]]:
    """Yield overlapping pairs of characters of a script without spaces; a single character stays alone."""
    characters = [
        (match.start() + offset, match.end() + offset, _NOT_IN_TERMS.sub("", unicodedata.normalize("NFKC", match[0])))
        for match in re.finditer(rf"[{_UNSPACED}](?:(?<=.)[{_MARKS}]+)?|[{_MARKS}]+", run)
    ]
    if len(characters) == 1:
        yield (*characters[0], False)
    for (start, _, first), (_, end, second) in pairwise(characters):
        yield start, end, first + second, False


@cache
def get_analyzer(language: str) -> Analyzer:
    """Return the analyzer of a language: one of the values of `LANGUAGES`, or "" for none."""
    return Analyzer(language)


# -- language detection ------------------------------------------------------------------------------------------------


def detect_language(declared: str, texts: Sequence[str], pieces: Sequence[bytes] = ()) -> str:
    """Return the language of a page: the one it declares, else the one of its longest text.

    `pieces` is the page cut by `split_runs`, if the caller has it.
    """
    language = declared_language(declared)
    return guess_language(sample_texts(texts, pieces)) if language is None else language


def declared_language(declared: str) -> str | None:
    """Return the language that a page declares; None: it declares none."""
    subtag = re.split("[-_,; ]", declared.strip().lower(), maxsplit=1)[0]
    return LANGUAGES.get(subtag, NO_LANGUAGE) if 2 <= len(subtag) <= 3 and subtag.isalpha() else None


class LanguageSample(NamedTuple):
    """A sample of a page, to guess its language."""

    text: str  # the start of the longest text
    pieces: int  # first pieces of the page
    english: int  # those of them that occur only in English
    different: int  # different ones of these


def sample_texts(texts: Sequence[str], pieces: Sequence[bytes]) -> LanguageSample:
    """Return a sample of a page, given its texts and pieces."""
    return LanguageSample(max(texts, key=len, default="")[:SAMPLE_LENGTH], *_count_english(pieces[:SAMPLE_PIECES]))


def guess_language(sample: LanguageSample) -> str:
    """Return the language of a page by a sample."""
    if _is_plainly_english(*sample[1:]) or _is_plainly_english(*_count_english(split_pieces(sample.text))):
        return "english"
    return _classify(sample.text) if len(sample.text) >= _LEAST_SAMPLE_LENGTH else NO_LANGUAGE


def _count_english(pieces: Sequence[bytes]) -> tuple[int, int, int]:
    """Return the number of pieces, of those that occur only in English, and of different ones of these."""
    english = [piece for piece in pieces if piece in _ONLY_ENGLISH_PIECES]
    return len(pieces), len(english), len(set(english))


def _is_plainly_english(pieces: int, english: int, different: int) -> bool:
    """Return whether many words occur only in English; this recognizes most pages in a tenth of the time."""
    return english >= pieces * _ENGLISH_SHARE and different >= _LEAST_ENGLISH_WORDS


def _classify(sample: str) -> str:
    language, probability = _identifier().classify(sample)
    return LANGUAGES.get(language, NO_LANGUAGE) if probability >= _LEAST_PROBABILITY else NO_LANGUAGE


@cache
def _identifier() -> LanguageIdentifier:
    """Load the detector on the first page whose language is not plain, because few crawls need it."""
    from gossamer.index.language_model import load_identifier  # noqa: PLC0415

    return load_identifier()
