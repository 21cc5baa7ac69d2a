"""Function words: they stand in every question and say nothing about its answer."""

_ENGLISH = """
about above after again all also am an and any anybody anyone anything are as at be because been before being below
between both but by can could did do does doing done down during each few for from further get gets give go got had has
have having he her here hers him his how if in into is it its itself just let like me more most my myself no nor not
now of off on once one only or other our out over own please put same saw see seen she should show so some somebody
someone something such tell than that the their them then there these they thing things this those through to too
under until up us use used very want was we were what when where which while who whom whose why will with would you
your yours
"""
_CHINESE = """
的 了 吗 呢 吧 啊 是 在 有 和 与 或 及 也 都 就 还 又 很 被 把 给 让 向 从 到 对 于 之 其
这 那 哪 哪里 哪儿 什么 怎么 怎样 如何 为什么 谁 几 多少 我 你 他 她 它 我们 你们 他们 一个 一下
这个 那个 哪个 这里 那里 过 着 得 地 请 请问 可以 能 会 上 里 中
"""
_SPATIAL = """
nearest closest nearby near close next around away far robot position location place
find fetch bring pick grab take need look locate search tell please
最近 附近 旁边 离 距离 机器人 位置 帮 找 拿 取 需要
"""
_AFTER_A = "few further more one saw show thing use used very"
_AFTER_I = """
also am can could did do does get give go got had have just let like look need now once only please pick put saw see
should show take tell use used want was will would
"""

ENGLISH: frozenset[str] = frozenset(_ENGLISH.split())
STOP_WORDS: frozenset[str] = ENGLISH | frozenset(_CHINESE.split())
SPATIAL_WORDS: frozenset[str] = frozenset(_SPATIAL.split())
"""Words that, in a question with a spatial sort, speak of the sort or the errand and not of what is looked for."""

LETTERS: dict[str, frozenset[str]] = {"a": frozenset(_AFTER_A.split()), "i": frozenset(_AFTER_I.split())}
"""The function words of one letter, and the other function words that may follow each: `a few`, `I saw`.

The same letter is a name where its function word cannot stand, as in `dock a is free`, see letters.py.
"""
