"""Reduce inflected words of other languages than English to their stems, by the stemmers of Snowball.

The script of a word decides: Cyrillic words are read as Russian, others as Greek, Arabic, Hindi, Tamil or Armenian. In
Latin script the text decides: it is in the language of which it holds most function words. Its words are indexed as
stems with their language, `tass:german`, and the language itself as `:german`. A query is too short to tell, so it asks
for each of its words in English and, by its stem there, in all languages of the memories. Words that one language alone
confuses, such as plane and plan in Spanish, remain two in texts of the others.

A label is too short as well. It is indexed as an English one, and a word of a query that no text holds so is looked for
among the labels, too, by its stem in each of these languages and in that of the query.

M. F. Porter: Snowball, a language for stemming algorithms, 2001, https://snowballstem.org.
"""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from ..threads import importing
from .stop_words import ENGLISH

_OF_SCRIPTS = {
    "russian": "\u0400-\u052f", "greek": "\u0370-\u03ff", "arabic": "\u0600-\u06ff", "hindi": "\u0900-\u097f",
    "tamil": "\u0b80-\u0bff", "armenian": "\u0530-\u058f",
}  # fmt: skip
_IN_SCRIPT = re.compile("|".join(f"(?P<{name}>[{letters}]{{3,40}})" for name, letters in _OF_SCRIPTS.items()))
_IN_LATIN = re.compile("[a-z]{3,40}")
_FUNCTION_WORDS = {
    "spanish": "el la los las un una y de del al en con por para que no es esta se su lo como mas sobre bajo "
               "junto donde cual quien cuando cuantos fue",
    "french": "le la les des du de un une et est dans sur avec pour pas que qui en au aux ce cette il par ou "
              "sous sont quel quelle quels comment quand combien quoi",
    "german": "der die das den dem des ein eine einen einem einer und ist nicht mit auf im in zu von fur am an "
              "neben unter uber bei wo sind sich wird was wer wie welche welcher welches wann wurde hat warum",
    "portuguese": "o os as um uma e de do da dos das no na nos nas em com para por que nao esta ao se mais sob "
                  "sobre onde qual quem quando quantos foi",
    "italian": "il lo la gli le un una e di del della dei nel nella sul sulla con per non che in da dal alla al "
               "sono si sotto sopra dove quale chi quando quanti cosa come",
    "turkish": "ve bir bu da de ile icin var yok degil olan gibi daha ama uzerinde altinda yaninda en ne nerede "
               "hangi kim nasil kac neden hangisi zaman",
    "dutch": "de het een en van in is op te dat niet met voor zijn naar bij aan uit er deze die door tussen "
             "onder waar wat wie welke wanneer hoe werd",
    "indonesian": "yang dan di ke dari ini itu dengan untuk tidak ada pada adalah dalam atas bawah akan oleh mana "
                  "apa siapa kapan bagaimana berapa",
    "polish": "w na z do jest nie sie to ze o od za po pod przy przez dla oraz ktory ktora nad obok sa gdzie "
              "kto kiedy jak ile co",
    "romanian": "si de la in pe cu un o este nu din al ale sau sunt care mai pentru fost langa sub peste unde ce "
                "cine cand cat cate cum",
    "swedish": "och att ar en ett den det de till pa med for av inte som har var vid under over mellan vad vem "
               "vilken nar hur",
    "danish": "og at er en et den det de til pa med for af ikke som har var der vi ved under over mellem hvor "
              "hvad hvem hvilken hvornar hvordan",
    "norwegian": "og er en et den det de til pa med for av ikke som har var ved under over mellom hvor hva hvem "
                 "hvilken nar hvordan",
    "czech": "je na se ze v s z do to o k pro jako ale byl byla jsou nebo ktery ktera pod nad mezi vedle kdo "
             "co kdy kde jak",
    "hungarian": "az es egy van nem hogy ez is meg volt de ha csak vagy mint azt mar alatt mellett hol mi ki "
                 "mikor milyen hany",
    "finnish": "ja on ei se etta oli ovat joka kun myos mutta tai kuin niin ole tama siina vieressa alla paalla "
               "missa mika kuka milloin miten kuinka",
    "catalan": "el la els les una un amb per que no es esta del al dels als de en mes pero son aquest aquesta "
               "sobre qui quan quina quin com on",
    "lithuanian": "ir yra kad ant su is tai kaip bet ne buvo po prie per kur",
    "vietnamese": "va cua la co cac trong duoc cho nhung mot khong nguoi tai den voi da o cai nay tren duoi nao gi "
                  "ai bao nhieu bi khi theo vao ra nhu the de",
}  # fmt: skip
"""Function words of languages in Latin script, without accents. Of two that are alike, the first is read."""
_ARTICLE = re.compile("^[وف]?(?:[بك]?ال|لل)(?=..)")
"""The Arabic article, with what is written before it. Snowball cuts other endings from nouns with it than without."""
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF.setdefault(_word, []).append(_language)
_UNINFLECTED = "vietnamese"
"""It has no stems, and words of others are made from its own where accents are left out."""
_FEWEST = 2
"""So many different function words tell a language, if there are fewer of English: one may be a name."""
MARKERS = {f":{language}": language for language in _FUNCTION_WORDS if language != _UNINFLECTED}
"""The words by which the language of a text is indexed."""


@cache
def has_snowball() -> bool:
    """Return whether words of other languages than English have stems."""
    return importlib.util.find_spec("snowballstemmer") is not None


def language_of(words: Iterable[str]) -> str:
    """Return the language of folded words in Latin script; empty for English, and where too little tells."""
    if not has_snowball():
        return ""
    known = {word for word in words if word in _LANGUAGES_OF or word in ENGLISH}
    if len(known) < _FEWEST:
        return ""
    counts = Counter(language for word in known for language in _LANGUAGES_OF.get(word, ()))
    language, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    is_told = count >= _FEWEST and count > len(known & ENGLISH) and language != _UNINFLECTED
    return language if is_told else ""


def is_function_word(word: str, language: str) -> bool:
    """Return whether a folded word is a function word of a language."""
    return language in _LANGUAGES_OF.get(word, ())


@lru_cache(maxsize=1 << 16)
def stem_by_script(word: str) -> str:
    """Return the stem of a folded word in another script than Latin; the word itself where its script has none."""
    match = _IN_SCRIPT.fullmatch(word) if has_snowball() else None
    return _stem(word, match.lastgroup or "") if match else word


@lru_cache(maxsize=1 << 16)
def stem_in(word: str, language: str) -> str:
    """Return how a folded word is indexed in a text of a language in Latin script; empty if that has no stem of it."""
    return f"{_stem(word, language)}:{language}" if language and _IN_LATIN.fullmatch(word) else ""


def _stem(word: str, language: str) -> str:
    if language == "arabic":
        word = _ARTICLE.sub("", word)
    stem: str = _stemmer(language).stemWord(word)
    return stem or word


@cache
def _stemmer(language: str) -> Any:
    with importing:
        import snowballstemmer
    return snowballstemmer.stemmer(language)
