"""Chinese lessons as people write them: each gets the category, tags and claims that its English like gets."""

from __future__ import annotations

import pytest

from bench.quality_classification import category_of
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.language.simplified import simplified
from robotmem_ros.memory.learning.classification import load_classifier
from robotmem_ros.memory.learning.data_file import read_data_file
from robotmem_ros.memory.learning.deduplication import Limits, same_lesson
from robotmem_ros.memory.learning.quantities import QUANTITIES_FILE
from robotmem_ros.memory.learning.rules import RULES_FILE
from robotmem_ros.memory.learning.taxonomy import TAXONOMY_FILE
from robotmem_ros.memory.learning.terms import WORDING_FILE
from robotmem_ros.memory.learning.wording import wording

SENTENCES = {
    "revert": """
        把旧的驱动又装回去了
        地图恢复原样了
        我们退回到上一个版本
        新地图有问题，又换回了旧地图
        昨天的修改已经撤回
        重新用回了激光雷达导航
        参数已还原成出厂值
        放弃了新方案，照旧用吸盘
        版本降级到上个月的模型
    """,
    "decision": """
        大家商量后决定用轮式底盘
        最后敲定由二号机器人送餐
        团队一致认为应该用视觉定位，就这么定了
        我们打算改用更小的地图
        从下周起统一走货运电梯
        方案选的是机械式夹爪
        选择软指而不是吸盘作为标准配置
        会上通过了夜间巡逻的计划
        从明天开始不用旧地图了
    """,
    "postmortem": """
        如果当时先检查电量，就不会停在半路
        这次撞墙给我们的教训是先减速
        事后看，我们早该换电池
        上周的失败原因总结：没有人盯着日志
        昨天的任务失败了，因为没人提前确认门是开的
        本来可以避免这次碰撞
        下一次应该先清空通道再出发
        回顾这次事故，问题出在交接
    """,
    "self_defect": """
        我经常把玻璃门当成通道
        我没有确认就说任务完成了
        我总记不住护士的名字
        我的抓取估计老是偏大
        我判断错了杯子的位置
        我忘了关抽屉
        我没核对就报告了结果
        我转弯时停得太晚
        我分辨不出红色和橙色的盒子
        我老爱把事情弄得过于复杂
    """,
    "gotcha": """
        千万注意，这个接口的下标是从零开始的
        留神，右边的门看着开着其实是玻璃
        容易搞混：两台充电桩的编号是反的
        没想到这个传感器默认是关着的
        驱动失败时不会报错
        这个按钮要按两次才有反应，很多人不知道
        说明书写的是米，实际上返回的是毫米
        当心，标签上的方向和实际相反
        表面上连接成功，其实没有数据
    """,
    "constraint": """
        没有授权任何人不得打开电池仓
        速度不能高于0.5米每秒
        有人在场时机械臂绝对不能动
        进入洁净室前必须消毒
        与病床至少保持半米距离
        只有夜班主管同意才能进入药房
        一次最多搬两个箱子
        手术室不准机器人进入
        仓库严禁明火
        请不要把水杯放在控制柜上
        任何情况下都不得越过黄线
        不可在电梯里转向
        负载不应超过5公斤
        务必等门完全打开再进
        电量低于20%时不许出发
    """,
    "preference": """
        王女士更喜欢坐在窗边
        奶奶不爱吃甜的
        病人希望晚上把灯调暗
        住户宁愿自己拿药
        他偏好安静的机器人
        老板习惯早上喝咖啡
        如果可以，走靠窗的那条路
        能不走坡道就不走坡道
        护士们倾向于让机器人靠右走
        客人讨厌机器人靠得太近
        尽可能用左手递东西
        李先生想要茶，不想要咖啡
    """,
    "worldview": """
        我觉得简单的机器人更值得信任
        说到底，安全比速度重要
        世界总在变化，地图永远是旧的
        信任靠一次次的可靠建立起来
        没有完美的传感器，只有合适的传感器
        归根到底，机器人是为人服务的
        我坚信慢就是快
    """,
    "tradeoff": """
        分辨率越高，处理越慢
        走近路省时间，但是要多耗电
        夹得更紧更稳，不过容易压坏盒子
        用大模型更准，但是延迟更大
        以速度为代价换来了精度
        省电和速度不可兼得
        有利有弊：软指不伤东西，可是抓不住重物
        在精度和耗时之间要取个平衡
        牺牲一点速度换来更平稳的运动
    """,
    "root_cause": """
        定位漂移的根因是地面太亮
        根本原因在于编码器接线松了
        抓取失败是由于指尖有油
        归根结底是线缆接触不良引起的故障
        电池掉电快，原来是风扇一直在转
        之所以打滑，是因为地面刚拖过
        网络延迟使机器人停了下来，罪魁祸首是路由器
        问题出在相机的曝光上
        机器人停住是因为急停被按下
        查明了，振动来自一颗松动的螺丝
        罪魁祸首是生锈的轴承
        毛病出在轮子的编码器
        延迟的源头是无线网络
        缘由是固件太旧
        杯子掉落的成因是夹持力不够
        误报归咎于传感器受潮
        灯光太强，以致识别失败
        门打不开，是门锁没电的缘故
        追查下来是电源模块坏了
    """,
    "calibration": """
        激光雷达重新标定过了
        相机的外参需要重新校准
        里程计每走10米多算了0.2米
        秤读数偏重30克
        陀螺仪零漂为0.3度每秒
        手眼标定的误差是1.2毫米
        把力矩传感器清零
        右轮的直径要乘以1.02来补偿
        镜头畸变参数重新算过了
        深度相机偏大2厘米，要减去
    """,
    "hazard": """
        地上有一滩水，容易滑倒
        炉子还烫着
        楼梯口没有栏杆，小心摔下去
        电线裸露在外，有触电的风险
        化学品柜有腐蚀性液体
        货架不稳，可能会倒
        厨房煤气泄漏
        桌角很尖，会划伤人
        剪刀张着放在桌上
        电池冒烟，有着火的危险
        玻璃碴子散在走廊
        小零件孩子可能会吞下去
    """,
    "config": """
        最大速度设成0.5
        把超时时间调成30秒
        日志级别改为debug
        配置文件在config/nav.yaml里
        max_speed参数默认是0.8
        端口号配成了8080
        重试次数设定为3
        开启了 use_sim_time 选项
        把膨胀半径从0.3改到0.5
    """,
    "architecture": """
        导航和抓取是两个独立的进程
        相机节点发布点云，规划节点订阅它
        系统由感知、规划、控制三个模块组成
        状态存在数据库里，各模块通过消息队列通信
        驱动封装在一个插件里
        行为树负责调度各个技能
        看门狗监控所有节点
        后端只提供一个接口
        控制器跑在单独的工控机上
    """,
    "pattern": """
        每天早上八点走廊都很挤
        一下雨，门口就挤满了人
        周五下午通常没有人
        午饭后电梯总是很忙
        十次有八次是门先关上
        冬天电池一般撑不到下班
        访客大多从南门进来
        每隔两小时护士会来查房
        只要阳光照进来，相机就会过曝
    """,
    "grasp": """
        拿杯子要捏住杯柄
        从两侧夹住盒子
        用吸盘吸住平整的箱子
        抓鸡蛋要轻，两指就够
        握住刀柄再提起来
        夹紧瓶颈，不要夹瓶盖
        托着碗底拿起来
        指尖对准把手中间再闭合
        袋子要抓提手
    """,
    "navigation": """
        去实验室从大厅左拐最近
        过了电梯第二个门右拐
        沿着墙走到尽头就是充电站
        避开中间的走道，从后门绕
        穿过大厅再上坡道
        倒着开进充电桩
        路口要慢行
        这条巷子太窄，过不去，要绕路
        送货去三楼先坐货梯
        原路返回比较快
    """,
    "human_interaction": """
        跟老人说话要慢一点
        见到客人先打个招呼
        递水时等对方拿稳再松手
        称呼张医生要加上职称
        小朋友挥手时要回应
        撞到人要马上道歉
        病人没听清，要再说一次
        访客问路时先指方向再带路
    """,
    "observation_measurement": """
        电池电压是24.6伏
        走廊宽1.8米
        房间温度为26度
        水箱只剩2升
        从仓库到大厅用了95秒
        箱子重3.2公斤
        平均速度0.4米每秒
        噪音有60分贝
    """,
    "observation_event": """
        刚才有人敲门
        十点钟快递送到了
        杯子掉到地上了
        电梯门突然关上了
        警报响了
        灯灭了
        护士走进了病房
        机器人开始充电
        有个孩子跑了过去
    """,
    "observation_place": """
        厨房在大厅的左边
        洗手间位于走廊尽头
        会议室紧挨着电梯
        三楼有四间病房
        药房隔壁就是护士站
        仓库在地下一层
        办公室朝南，有两扇窗
    """,
    "observation_object": """
        桌上有一个蓝色的杯子
        椅子旁边摆着一只箱子
        伞挂在门后
        沙发上躺着一本书
        钥匙放在抽屉里
        地上有一个纸箱
        窗台上摆了两盆花
    """,
    "observation": """
        今天病房里很安静
        没有看到什么异常
        外面在下雪
        闻到一股咖啡味
        比昨天冷一些
        窗帘拉上了一半
    """,
}
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
    """The rows of a table: what is meant, and the sentence."""
    rows = (line.split(maxsplit=1) for line in table.strip().splitlines())
    return [(meant, sentence) for meant, sentence in rows]


@pytest.mark.parametrize("category", SENTENCES)
def test_a_native_sentence_gets_its_category(category: str) -> None:
    classifier = load_classifier()
    sentences = [line.strip() for line in SENTENCES[category].strip().splitlines()]
    assert len(sentences) >= 5
    assert {sentence: category_of(classifier, sentence) for sentence in sentences} == dict.fromkeys(sentences, category)


@pytest.mark.parametrize(("category", "sentence"), listed(OTHERS))
def test_a_phrase_that_only_looks_like_one_of_a_category_is_not_taken_for_it(category: str, sentence: str) -> None:
    assert category_of(load_classifier(), sentence) != category


@pytest.mark.parametrize(("category", "sentence"), listed(TRADITIONAL))
def test_traditional_characters_are_understood_as_simplified_ones(category: str, sentence: str) -> None:
    classifier = load_classifier()
    assert simplified(sentence) != sentence
    assert category_of(classifier, sentence) == category_of(classifier, simplified(sentence)) == category


@pytest.mark.parametrize(("tag", "sentence"), listed(TAGS))
def test_a_native_sentence_gets_its_tag(memory: RobotMemory, tag: str, sentence: str) -> None:
    assert tag in memory.learn(sentence).tags


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_opposite_sentences_are_never_one(one: str, other: str) -> None:
    assert same_lesson(wording(one), wording(other), 1.0, Limits(0.0, 0.0)) is None


def test_a_lesson_in_the_other_script_is_a_duplicate_and_stays_as_it_was_written(memory: RobotMemory) -> None:
    first = memory.learn("抓取3號房間的藥瓶時力度不超過8N")
    assert memory.learn("抓取3号房间的药瓶时力度不超过8N").memory_id == first.memory_id
    assert memory.learn("抓取3号房间的药瓶时力度不超过9N").is_new
    (found,) = memory.recall(context_filter={"id": first.memory_id})
    assert found.content == "抓取3號房間的藥瓶時力度不超過8N"
    entities = {one.value for one in memory.explain(first.memory_id).decisions if one.field == "scope_entity"}
    assert entities == {"3號房間的"}


@pytest.mark.parametrize("file", [RULES_FILE, TAXONOMY_FILE, WORDING_FILE, QUANTITIES_FILE], ids=lambda file: file.stem)
def test_the_rules_are_written_in_simplified_characters(file: object) -> None:
    written = str(read_data_file("rules", file).value)  # type: ignore[arg-type]
    assert simplified(written) == written


def test_a_text_in_simplified_characters_keeps_its_length() -> None:
    text = "機器人在大廳的櫃檯後面，force 8N"
    assert simplified(text) == "机器人在大厅的柜台后面，force 8N"
    assert simplified("plain") == "plain"
