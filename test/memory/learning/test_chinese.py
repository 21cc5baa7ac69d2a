"""Chinese facts get the same category, tags and claims as their English counterparts."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.suites.classification import category_of, read_sentences
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.learning.classification import RULES_FILE, TAXONOMY_FILE, load_classifier, load_rules
from robotmem_ros.memory.text.entities import QUANTITIES_FILE
from robotmem_ros.memory.text.letters import simplify
from robotmem_ros.memory.text.statement import STATEMENT_FILE, statement
from robotmem_ros.memory.yaml_file import read_yaml

# Sentences of every category, each with a phrase of its own; the rules were tuned on them.
SENTENCES = read_sentences(str(Path(__file__).with_name("chinese")))
CATEGORIES = sorted({sentence.category for sentence in SENTENCES})
# What has a phrase of a category in it and means something else.
OTHERS = """
    root_cause 这里原来是仓库
    root_cause 桌上是客人带来的蛋糕
    root_cause 演出在大厅举行
    root_cause 访客来自上海
    root_cause 保安在追查那把钥匙
    worldview 这台底盘很可靠
    worldview 为了安全靠右行驶
    constraint 相机测距不准
    constraint 仓库里只有三个箱子
    constraint 楼下只有一扇门打开了
    hazard 机器人携带电池
    hazard 煤气表在楼梯间
    hazard 演练时警报测试正常
    config 会议时间改到下午
    config 客人把座位改到窗边
    decision 从此处左转就是大厅
    decision 客人打算明天离开
    pattern 这次的效果一般
    gotcha 机器人悄悄走近
    gotcha 路上有个坑
    gotcha 部署用的镜像在服务器上
    tradeoff 旧电池换来一块新的
    tradeoff 机器人失去平衡
    postmortem 这里不该有人
    preference 如果想要开门就按按钮
    architecture 机器人跑在前面
    revert 护士恢复得很好
    self_defect 我们走错了
    navigation 走神的时候打翻了水
    calibration 楼梯太长
"""
TRADITIONAL = """
    revert 我們撤銷了昨天的修改
    decision 大家商量後決定用輪式底盤
    postmortem 回顧這次事故，問題出在交接
    self_defect 我沒有確認就說任務完成了
    gotcha 當心，標籤上的方向和實際相反
    constraint 沒有許可絕對不能進入手術室
    preference 奶奶不愛吃甜的，更喜歡水果
    worldview 說到底，安全比速度重要
    tradeoff 解析度越高，處理越慢
    root_cause 延遲的根因是網路太慢
    root_cause 抓取失敗是由於指尖有油
    calibration 相機的外參需要重新校準
    hazard 電線裸露在外，有觸電的風險
    config 最大速度設成0.5
    architecture 導航和抓取是兩個獨立的進程
    pattern 每週五下午通常沒有人
    grasp 抓雞蛋要輕，兩指就夠
    navigation 沿著牆走到盡頭右轉
    human_interaction 見到客人先打招呼，說話要有禮貌
    observation_measurement 電池電壓是24.6伏
    observation_event 剛才有人敲門
    observation_place 會議室位於走廊盡頭
    observation_object 桌上有一個藍色的杯子
    observation 聞到一股咖啡味
"""
TAGS = """
    root_cause 故障的根因是螺丝松了
    failure 打开抽屉没成功，把手断了
    energy 没电了，回到充电桩
    misperception 把玻璃当成了通道
    unverified_claim 未经核实就报告完成
    forgetfulness 漏掉了第三个房间
    periodic 每晚十点巡逻
    time_of_day 凌晨走廊没有灯
    healthcare 把药送到三号病床
    logistics 快递放在货架上
    networking 二楼信号弱，经常断网
    privacy 不要拍病人的脸，属于个人信息
    payload_limit 箱子太重，超过了承重
    when_to_stop 门锁响起就中止
    recovery 卡住时复位再试
    success 用软指抓鸡蛋很管用
    improvement 比以前好，抖动小多了
    hypothesis 疑似是网线松了
"""
OPPOSITES = [
    ("抽屉没有锁", "抽屉锁着"), ("抽屜沒有鎖", "抽屜鎖著"), ("这台泵好用", "这台泵不好用"), ("阀门敞开", "阀门合上"),
    ("负载超过5公斤", "负载不超过5公斤"), ("門開著", "門沒開"), ("走廊人多", "走廊人少"), ("电机发烫", "电机冰冷"),
    ("抓取很顺利", "抓取失灵"), ("从不经过大厅", "经过大厅"), ("停在前门", "停在后门"), ("藥放在藥房", "藥放在病房"),
    ("相機連上了", "相機掉線了"), ("必须敲门", "无需敲门"), ("看得到二维码", "看不清二维码"),
]  # fmt: skip


def listed(table: str) -> list[tuple[str, str]]:
    """Return the rows of a table: the expected value and the sentence."""
    rows = (line.split(maxsplit=1) for line in table.strip().splitlines())
    return [(meant, sentence) for meant, sentence in rows]


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_chinese_sentence_gets_its_category(category: str) -> None:
    assert set(CATEGORIES) == set(load_rules().categories)
    classifier = load_classifier()
    sentences = [sentence.text for sentence in SENTENCES if sentence.category == category]
    assert len(sentences) >= 5
    assert {sentence: category_of(classifier, sentence) for sentence in sentences} == dict.fromkeys(sentences, category)


@pytest.mark.parametrize(
    "sentence", ["AI缺陷：训练偏好覆盖指令", "我的弱点是看不清玻璃", "AI defect: trained preference overrides the task"]
)
def test_a_named_defect_of_its_own_is_no_preference(sentence: str) -> None:
    assert category_of(load_classifier(), sentence) == "self_defect"


@pytest.mark.parametrize(("category", "sentence"), listed(OTHERS))
def test_a_phrase_that_only_contains_one_of_a_category_does_not_give_it(category: str, sentence: str) -> None:
    assert category_of(load_classifier(), sentence) != category


@pytest.mark.parametrize(("category", "sentence"), listed(TRADITIONAL))
def test_traditional_characters_give_the_same_category_as_simplified_ones(category: str, sentence: str) -> None:
    classifier = load_classifier()
    assert simplify(sentence) != sentence
    assert category_of(classifier, sentence) == category_of(classifier, simplify(sentence)) == category


@pytest.mark.parametrize(("tag", "sentence"), listed(TAGS))
def test_a_chinese_sentence_gets_its_tag(memory: RobotMemory, tag: str, sentence: str) -> None:
    assert tag in memory.learn(sentence).tags


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_opposite_sentences_have_different_claims(one: str, other: str) -> None:
    left, right = statement(one), statement(other)
    assert (left.names, left.claim) != (right.names, right.claim)


def test_a_fact_in_simplified_characters_is_linked_to_one_in_traditional_characters(memory: RobotMemory) -> None:
    first = memory.learn("抓取3號房間的藥瓶時力度不超過8N")
    assert memory.learn("抓取3号房间的药瓶时力度不超过8N").similar_ids == (first.memory_id,)
    assert memory.learn("抓取3号房间的药瓶时力度不超过9N").is_new
    (found,) = memory.recall(context_filter={"id": first.memory_id})
    assert found.memory.content == "抓取3號房間的藥瓶時力度不超過8N"
    entities = {one.value for one in memory.explain(first.memory_id).decisions if one.field == "scope_entity"}
    assert entities == {"3號房間"}


FILES = [RULES_FILE, TAXONOMY_FILE, STATEMENT_FILE, QUANTITIES_FILE]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_rules_are_written_in_simplified_characters(file: object) -> None:
    written = str(read_yaml("rules", file).value)  # type: ignore[arg-type]
    assert simplify(written) == written


def test_a_text_in_simplified_characters_keeps_its_length() -> None:
    text = "機器人在大廳的櫃檯後面，force 8N"
    assert simplify(text) == "机器人在大厅的柜台后面，force 8N"
    assert simplify("plain") == "plain"
