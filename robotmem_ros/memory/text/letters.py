"""Write a text in one form of its letters, so that a word is found in whatever form it was typed; cut it by characters.

Unicode encodes a letter in several ways (composed or not, full width, ligatures), and writers leave out what readers do
not need: accents, the vowels of Arabic and Hebrew, joiners. Vowel signs that are a part of the spelling stay: without
them, Hindi or Thai words would be others.

A character as a reader sees it is a grapheme cluster, see Unicode Standard Annex #29. A cluster here is one of the
annex or several: what must not be parted is never parted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby


def _runs() -> Iterator[tuple[str, int, int]]:
    # Neighbours of one category: it, the first and the last of them.
    first = 0
    for category, run in groupby(map(unicodedata.category, map(chr, range(0x20000)))):
        after = first + len([*run])
        yield category, first, after - 1
        first = after


_RUNS = tuple(_runs())


def _in_categories(*categories: str) -> str:
    # Their characters, for the brackets of a regular expression.
    return "".join(f"{chr(first)}-{chr(last)}" for category, first, last in _RUNS if category in categories)


MARKS = _in_categories("Mn", "Mc", "Me")
"""Combining marks, for the brackets of a regular expression: Python's \\w leaves them out."""
HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
"""The Chinese characters, likewise."""
_HAN_CHARACTER = re.compile(f"[{HAN}]")
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
IGNORED = f"{_in_categories('Cf')}{_SELECTORS}{_FILLERS}\U000e0001-\U000e007f"
"""Invisible characters: joiners, soft hyphens, marks of direction, selectors of a variant; for brackets, as MARKS."""
_INVISIBLE = re.compile(f"[{IGNORED}]")
_OPTIONAL = re.compile(
    "["
    "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew vowels
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"  # Arabic vowels, the long stroke
    "\u0711\u0730-\u074a"  # Syriac vowels
    "\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc"  # dots below Indic letters
    "]"
)
_ALIKE = str.maketrans({
    "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i",
    "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ٱ": "ا",
    "\u0901": "\u0902",  # Hindi: चाँद, चांद
    "\u09ce": "\u09a4\u09cd",  # Bengali: a letter and its joined form
    "\u0d7a": "\u0d23\u0d4d", "\u0d7b": "\u0d28\u0d4d", "\u0d7c": "\u0d30\u0d4d",  # Malayalam, likewise
    "\u0d7d": "\u0d32\u0d4d", "\u0d7e": "\u0d33\u0d4d", "\u0d7f": "\u0d15\u0d4d",
    "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2212": "-",
})  # fmt: skip
_APOSTROPHES = str.maketrans(dict.fromkeys("’ʼʻ", "'"))
# The vowel am of Thai and Lao, whose mark is typed before or after the mark of tone; two Thai e for one ae.
_AM = re.compile("(?:\u0e4d([\u0e48-\u0e4b]?)|([\u0e48-\u0e4b])\u0e4d)\u0e32")
_LAO_AM = re.compile("(?:\u0ecd([\u0ec8-\u0ecb]?)|([\u0ec8-\u0ecb])\u0ecd)\u0eb2")
ASCII_SPACES = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum()})
"""Table from separators of words to spaces: translating and splitting is twice as fast as a regular expression."""
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")


def compose(text: str) -> str:
    """Return a text in compatibility form (NFKC), without invisible characters, in its letter case."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).translate(_APOSTROPHES)


def fold(text: str) -> str:
    """Return a composed text without letter case and optional marks, with ASCII digits and simplified Chinese.

    Case folding is that of the Unicode Standard (3.13, D146): ß is ss, and a final sigma a sigma.
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text.casefold()).casefold())
    text = unicodedata.normalize("NFC", _OPTIONAL.sub("", text).translate(_ALIKE))
    text = _LAO_AM.sub("\\1\\2\u0eb3", _AM.sub("\\1\\2\u0e33", text)).replace("\u0e40\u0e40", "\u0e41")
    return simplify(_FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text))


def has_han(text: str) -> bool:
    """Return whether a text has a Chinese character."""
    return _HAN_CHARACTER.search(text) is not None


# Traditional and simplified character. Several traditional ones can be one, such as 乾 and 幹; a text keeps its length.
_PAIRS = """
丟丢 並并 乾干 亞亚 佈布 佔占 併并 來来 係系 倉仓 個个 們们 側侧 偽伪 傘伞 備备 傳传 傷伤 傾倾 僅仅
僕仆 僱雇 價价 儀仪 億亿 儘尽 償偿 優优 內内 兩两 冊册 凍冻 凱凯 別别 則则 剎刹 剛刚 創创 劃划 劇剧
劑剂 動动 務务 勝胜 勞劳 勢势 勵励 勸劝 匯汇 匱匮 區区 協协 厭厌 厲厉 參参 叢丛 吶呐 員员 問问 啓启
啟启 喚唤 單单 嗆呛 嗎吗 嘔呕 嘗尝 噴喷 嚇吓 嚮向 嚴严 囑嘱 圍围 園园 圓圆 圖图 團团 埡垭 執执 堅坚
報报 場场 塊块 塗涂 塵尘 墊垫 墜坠 壓压 壞坏 壯壮 壺壶 壽寿 夠够 夢梦 夾夹 奪夺 婦妇 媽妈 嬰婴 孫孙
學学 實实 寧宁 審审 寫写 寬宽 寶宝 將将 專专 尋寻 對对 導导 屆届 層层 屬属 島岛 巖岩 師师 帳帐 帶带
幀帧 幹干 幾几 庫库 廁厕 廚厨 廠厂 廢废 廳厅 張张 強强 彈弹 彎弯 彙汇 後后 徑径 從从 復复 徵征 徹彻
恆恒 悶闷 惡恶 愛爱 態态 慘惨 慣惯 慮虑 憂忧 憑凭 憶忆 應应 懷怀 懸悬 戀恋 戰战 戲戏 戶户 拋抛 捨舍
掃扫 掛挂 採采 揀拣 揚扬 換换 揮挥 損损 摺折 撐撑 撥拨 撿捡 擁拥 擇择 擊击 擋挡 擔担 據据 擠挤 擬拟
擱搁 擴扩 擺摆 擾扰 攔拦 攜携 攝摄 攪搅 敗败 敘叙 敵敌 數数 斂敛 斷断 於于 時时 暈晕 暢畅 暫暂 曆历
曉晓 曬晒 書书 會会 東东 桿杆 條条 棄弃 棧栈 極极 構构 樁桩 樂乐 樓楼 標标 樞枢 樣样 樹树 橋桥 機机
橫横 檔档 檢检 檯台 櫃柜 櫥橱 欄栏 權权 歐欧 歡欢 歲岁 歷历 歸归 殘残 殺杀 毀毁 氈毡 氣气 汙污 決决
沒没 沖冲 況况 洩泄 涼凉 淨净 淺浅 減减 測测 湧涌 準准 溝沟 溫温 溼湿 滅灭 滯滞 滾滚 滿满 漲涨 潔洁
潛潜 潤润 潰溃 濁浊 濕湿 濟济 濺溅 濾滤 瀏浏 灑洒 灘滩 灣湾 災灾 為为 無无 煉炼 煙烟 煩烦 熒荧 熱热
燈灯 燒烧 燙烫 營营 爐炉 爛烂 爭争 爲为 爺爷 爾尔 牆墙 牘牍 牽牵 犧牺 狀状 獎奖 獨独 獲获 獻献 現现
瑪玛 環环 產产 甦苏 畝亩 畢毕 畫画 異异 當当 療疗 發发 皺皱 盡尽 監监 盤盘 睏困 睞睐 矚瞩 碩硕 確确
碼码 磚砖 礎础 礙碍 祕秘 禍祸 禮礼 禿秃 稅税 種种 稱称 穀谷 積积 穩稳 窩窝 竊窃 競竞 筆笔 節节 簡简
簽签 籃篮 籤签 粵粤 糧粮 紀纪 約约 紋纹 納纳 純纯 紙纸 級级 細细 紹绍 終终 組组 絆绊 結结 絕绝 絡络
給给 統统 絲丝 綁绑 經经 綠绿 綫线 維维 綱纲 網网 緊紧 緒绪 線线 緣缘 編编 緩缓 練练 緻致 縫缝 縮缩
總总 繞绕 繩绳 繪绘 繫系 繼继 續续 纔才 罰罚 罵骂 罷罢 羅罗 羣群 義义 習习 聖圣 聞闻 聯联 聰聪 聲声
聳耸 職职 聽听 肅肃 脈脉 脫脱 腦脑 腫肿 膚肤 膠胶 臉脸 臟脏 臥卧 臨临 臺台 與与 興兴 舉举 舊旧 艙舱
莖茎 華华 萬万 葉叶 著着 蓋盖 蓮莲 蔔卜 蕩荡 薦荐 藍蓝 藝艺 藥药 蘇苏 蘋苹 蘿萝 處处 虛虚 號号 虧亏
蝕蚀 蝦虾 螢萤 蟲虫 蠟蜡 術术 衛卫 衝冲 裏里 補补 裝装 裡里 製制 複复 褲裤 褻亵 襯衬 見见 規规 視视
親亲 覺觉 覽览 觀观 觸触 訂订 計计 訊讯 討讨 訓训 託托 記记 訪访 設设 許许 訴诉 診诊 註注 詐诈 評评
詛诅 詞词 詢询 試试 話话 該该 詳详 誌志 認认 誘诱 語语 誠诚 誤误 說说 説说 誰谁 課课 誼谊 調调 談谈
請请 諒谅 論论 諦谛 諷讽 諾诺 謀谋 講讲 謝谢 謹谨 證证 識识 譜谱 譯译 議议 護护 讀读 變变 讓让 讚赞
豎竖 貝贝 負负 財财 貢贡 貧贫 貨货 貪贪 貫贯 責责 貴贵 買买 費费 貼贴 賀贺 賓宾 賞赏 賠赔 賣卖 質质
賬账 賴赖 賺赚 購购 贈赠 贊赞 贏赢 趕赶 趨趋 跡迹 踐践 踴踊 蹟迹 蹤踪 躍跃 軀躯 車车 軌轨 軟软 軸轴
較较 載载 輔辅 輕轻 輛辆 輪轮 輯辑 輸输 輻辐 轉转 轟轰 辦办 辭辞 農农 迴回 這这 連连 週周 進进 遊游
運运 過过 達达 違违 遞递 遠远 適适 遲迟 遷迁 選选 遺遗 還还 邊边 邏逻 郵邮 鄉乡 鄰邻 醫医 釀酿 釋释
釐厘 釘钉 針针 鈍钝 鈕钮 鈣钙 鈴铃 鉗钳 鉛铅 鉤钩 銀银 銅铜 銳锐 銷销 銹锈 鋁铝 鋒锋 鋪铺 鋸锯 鋼钢
錄录 錐锥 錘锤 錯错 錶表 鍋锅 鍵键 鍾钟 鎖锁 鏈链 鏟铲 鏡镜 鏽锈 鐘钟 鐵铁 鑄铸 鑑鉴 鑒鉴 鑰钥 鑽钻
長长 門门 閃闪 閉闭 開开 閒闲 間间 閘闸 閣阁 閥阀 閱阅 閾阈 闊阔 闖闯 關关 陝陕 陣阵 陰阴 陳陈 陸陆
陽阳 隊队 階阶 際际 隨随 險险 隱隐 隻只 雖虽 雙双 雜杂 雞鸡 離离 難难 雲云 電电 霑沾 霧雾 靈灵 靜静
韌韧 韓韩 響响 頁页 頂顶 項项 順顺 須须 預预 頓顿 頭头 頸颈 頻频 題题 額额 顏颜 願愿 顛颠 類类 顧顾
顯显 風风 飄飘 飛飞 飯饭 飲饮 飽饱 飾饰 餓饿 餘余 館馆 餵喂 馬马 駐驻 駕驾 駛驶 騎骑 騙骗 騰腾 騷骚
驅驱 驗验 驚惊 驟骤 髒脏 體体 髮发 鬆松 鬚须 鬥斗 鬧闹 魚鱼 鮮鲜 鳥鸟 鷄鸡 鹼碱 鹽盐 麥麦 麼么 麽么
黃黄 點点 黨党 黴霉 齊齐 齒齿 齡龄 龍龙
"""
_TABLE = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}


def simplify(text: str) -> str:
    """Return a text with simplified characters for traditional ones, of the same length."""
    return text if text.isascii() else text.translate(_TABLE)


_VIRAMAS = "".join(
    char
    for category, first, last in _RUNS
    if category in {"Mn", "Mc"}
    for char in map(chr, range(first, last + 1))
    if unicodedata.combining(char) == 9
)
_INDIC = "\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1b00-\u1bff\ua800-\uabff\U00011000-\U00011f5f"
_LEADING, _VOWELS, _TRAILING = "\u1100-\u115f\ua960-\ua97c", "\u1160-\u11a7\ud7b0-\ud7c6", "\u11a8-\u11ff\ud7cb-\ud7fb"
_HANGUL = rf"[{_LEADING}]*[{_VOWELS}\uac00-\ud7a3][{_VOWELS}{_TRAILING}]*|[{_LEADING}]+|[{_TRAILING}]+"
_PREFIXES = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
_EXTENDED = f"(?![{_PREFIXES}])[{MARKS}{IGNORED}\u200c\U0001f3fb-\U0001f3ff\u0e33\u0eb3\uff9e\uff9f]"
_CLUSTER = re.compile(
    rf"(?s:\r\n|[{_PREFIXES}]*(?:[\U0001f1e6-\U0001f1ff]{{2}}|{_HANGUL}|\u0e40{{2}}|.)"
    rf"(?:{_EXTENDED}|(?<=[{_VIRAMAS}])[{_INDIC}]|(?<=[{_VIRAMAS}]\u200d)[{_INDIC}]"
    rf"|(?<=\u200d)[^\w\s]|(?<=[\u0e48-\u0e4b\u0e4d])\u0e32)*)"
)
_LONGEST_CLUSTER = 32
"""Number of code points from which a cluster may be parted: no script has such a character."""


def clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each character of a text."""
    if text.isascii() and "\r" not in text:
        yield from ((at, at + 1) for at in range(len(text)))
        return
    for match in _CLUSTER.finditer(text):
        for start in range(match.start(), match.end(), _LONGEST_CLUSTER):
            yield start, min(start + _LONGEST_CLUSTER, match.end())


SNIPPET = 100
"""Greatest number of code points of a content in a list of memories."""


def beginning(text: str, length: int) -> str:
    """Return the first `length` code points of a text, fewer if a character would be parted, and "…" if there is more.

    White space becomes single spaces, so that it is one line.
    """
    if len(text) <= length:
        return one_line(text)
    end = 0
    for _, after in clusters(text[: length + _LONGEST_CLUSTER + 1]):
        if after > length:
            break
        end = after
    return one_line(text[:end]).rstrip() + "…"


def one_line(text: str) -> str:
    """Return a text with a single space for all white space between two words."""
    return re.sub(r"\s+", " ", text)
