"""Read the state that a text gives its subject: where it is, whose, what it is called, which one, how many.

A subject has one such state at a time, so a newer text with another one replaces the older. What may hold beside
another statement is no state: what a thing is like, contains or does, what happened once, some of several things, what
holds under a condition, a question. For English and Chinese.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_BE = r"(?:is|are|was|were|stays?|remains?|has been|have been|is being|are being)"
_GO = (
    r"(?:\w{2,}s|go|sit|stand|lie|hang|live|stay|wait|belong|park|moved|went|(?:has|have) (?:moved|gone)|can be found)"
)
_AT = (
    r"(?:in front of|next to|close to|on top of|(?:to the )?(?:left|right) of|in|on|at|by|under|behind|beside|inside|"
    r"near|to|into|onto|between|above|below|over|outside|against|opposite|around)"
)
_MOVED = r"(?:kept|put|left|found|hung|moved|relocated|transferred|parked)"
_MEANS = r"(?:with|via|through|on|from|to)"
_THE = r"(?:the|our|my|your|its|his|her|their|this) .+?|.+?'s? .+?|.*?\d[^ ]*"
"""What names one thing: of several, one may be this and another one that."""
_TIMED = rf"(?:{_BE}(?: \w+)?|starts?|begins?|ends?|opens?|closes?|leaves?|comes?)"
_OWNED = rf"(?:belongs? to|{_BE} (?:owned by|(?:re)?assigned to|reserved for|meant for))"
_LOCATED = rf"(?:(?:is|are|has been|have been) (?!connected|linked)\w+ed|{_BE} {_MOVED}|{_BE}|{_GO})"
_NAME = r"(?:the .+|[\d#].*|(?-i:[A-Z]).*)"
_ENGLISH = (
    ("time", rf"(?P<subject>.+?) {_TIMED} (?:at|from|until) (?P<value>\d.*)"),
    ("owner", rf"(?P<subject>.+?) {_OWNED} (?P<value>.+)"),
    ("owner", r"(?P<value>.+?) owns? (?P<subject>.+)"),
    ("post", r"(?P<value>.+?) (?:is|are) (?:responsible for|in charge of) (?P<subject>.+)"),
    ("which", r"(?P<value>.+?) (?:took over as|became|has become) (?P<subject>.+)"),
    ("name", rf"(?P<subject>.+?) {_BE} (?:called|named|labelled|renamed(?: to)?) (?P<value>.+)"),
    ("place", rf"(?P<subject>.+?) {_LOCATED}(?: back| over| down| up)? {_AT} (?P<value>.+)"),
    ("place", rf"(?:we|i|they|you)(?: will)? (?:keep|store|put|moved|find) (?P<subject>.+?) {_AT} (?P<value>.+)"),
    ("means", rf"(?P<subject>.+? (?:\w{{2,}}s|{_BE})) {_MEANS} (?P<value>.+)"),
    ("which", r"(?P<subject>.+?) (?:takes?|uses?|needs?|requires?|gets?) (?P<value>.+)"),
    ("which", r"(?:use|take) (?P<value>.+?) (?:for|to) (?P<subject>.+)"),
    ("which", r"for (?P<subject>.+?),? (?:use|take) (?P<value>.+)"),
    ("contact", r"(?:contact|call|ask) (?P<value>(?-i:[A-Z])\w+) (?P<subject>(?:if|for|about) .+)"),
    ("route", r"to (?:reach|get to) (?P<subject>.+?),? (?:go|take|use|drive)(?: through| via| by)? (?P<value>.+)"),
    ("which", rf"(?P<subject>{_THE}) (?:is|are) (?:set to |of )?(?P<value>{_NAME}|.+'s)"),
    ("switch", rf"(?P<subject>.+?) {_BE} (?:switched |turned )?(?P<value>on|off)"),
    ("count", r"(?:(?:there are|we have) )?(?P<value>\d+) (?P<subject>.+)"),
)  # fmt: skip
_PUT = r"(?:[放摆停挂装堆存晾叠搁立靠移搬挪换转调坐住安躲]{1,2}[置放]?[在到至]|位于|在)"
_CHINESE = (
    ("owner", r"(?P<subject>.+?)(?:归|属于|分配给了?|分给了?|是留给)(?P<value>.+?)(?:使用|用|所有|管)?"),
    ("post", r"(?P<subject>.+?)改?由(?P<value>.+?)(?:负责|管|接手)"),
    ("post", r"(?P<value>.+?)(?:负责|接手)(?P<subject>.+)"),
    ("name", r"(?P<subject>.+?)(?:改名叫|改名为|名叫|叫做|叫)(?P<value>.+)"),
    ("place", rf"(?P<subject>.+?)(?:已?被)?改?{_PUT}了?(?P<value>[^了]+?)(?:去了|了)?"),
    ("route", r"去(?P<subject>.+?)(?:走|坐|经过)(?P<value>.+)"),
    ("route", r"(?P<subject>.+?)改?从(?P<value>.+?)(?:进|出|走).*"),
    ("which", r"(?P<subject>.+?)(?:(?:[改换降升调设]|提高|降低)[成为到至]了?|改用|用的是|使用|用|是|为)(?P<value>.+)"),
    ("count", r"(?P<subject>.+?)(?:还|只)?(?:有|剩下?)(?P<value>\d+.+)"),
)  # fmt: skip
_NO_STATE = re.compile(
    r"[?？]|[:：](?!\d)|^0\.5 |"
    r"\b(?:and|or|also|another|other|some|most|any|half|few|several|more|maybe|perhaps|might|could|can|may|"
    r"should|whether|not|n't|never|wants?|likes?|prefers?|has|have)\b(?! (?:been|be found|moved|gone|become|\d))|"
    r"^(?:an?|one|two|in|on|at|by|with|until|before|after|every|each|i|there (?:is|are)(?! \d)) |"
    r"^有|有时|也|另|部分|有些|一些|可能|也许|如果|会不会|不|没|时候|喜欢|、|[，,].*[，,]",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(
    r"\b(?:if|when|whenever|while|during|unless|because|before|after|until|is|are|was|were|goes|go)\b|"
    r"^(?:noon|breakfast|lunch|dinner|supper|night|midnight|quarter)\b",
    re.IGNORECASE,
)
_ADVERBS = re.compile(
    r"\b(?:now|currently|already|still|today|always|usually|from now on|again|meanwhile|actually|these days|"
    r"at the moment|only)\b,?|\bsince .+$|\bthis (?:morning|afternoon|evening|week)$|"
    r"现在|如今|目前|已经|默认|刚刚|一直|我们|把|正在|[。.!！]+$",
    re.IGNORECASE,
)
_HAN = re.compile("[\u3400-\u9fff]")
_LONGEST = 200


class State(NamedTuple):
    """What a text says of its subject."""

    kind: str
    """What is said of it, such as `place` or `owner`."""
    subject: str
    """The words that name the subject."""
    value: str
    """The words that name its state."""


def _compiled(patterns: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in patterns)


_OF_ENGLISH, _OF_CHINESE = _compiled(_ENGLISH), _compiled(_CHINESE)


def read_state(text: str) -> State | None:
    """Return the state that a text of one clause gives its subject, or None."""
    if len(text) > _LONGEST or _NO_STATE.search(text):
        return None
    plain = " ".join(_ADVERBS.sub(" ", text).split())
    patterns = _OF_ENGLISH
    if _HAN.search(plain):
        plain, patterns = plain.replace(" ", ""), _OF_CHINESE
    matches = ((kind, pattern.fullmatch(plain)) for kind, pattern in patterns)
    states = (State(kind, match["subject"], match["value"]) for kind, match in matches if match)
    return next((state for state in states if not _NO_VALUE.search(state.value)), None)
