"""Install the code with pip on a machine without ROS: everything but the node's generated messages."""

from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

HERE = Path(__file__).parent
WEB = HERE / "robotmem_ros" / "web"
VERSION = ElementTree.parse(HERE / "package.xml").findtext("version")

setup(
    name="robotmem_ros",
    version=VERSION,
    description="A memory that lasts, for robots: text, meaning, position, time and conditions in one SQLite file",
    license="Apache-2.0",
    packages=find_packages(include=["robotmem_ros", "robotmem_ros.*"]),
    package_data={
        "": ["py.typed", "*.yaml", "*.txt", "*.sql", "*.npy"],
        "robotmem_ros.web": [str(file.relative_to(WEB)) for file in (WEB / "static").rglob("*") if file.is_file()],
    },
    python_requires=">=3.10",
    install_requires=["numpy", "pyyaml", "tabulate[widechars]"],
    extras_require={
        "all": [
            *("numkong", "sqlite-vec", "fastembed", "onnx", "sentencepiece", "jieba", "icu4py", "rosbags", "pillow"),
            "snowballstemmer",
            *("fastapi>=0.135", "uvicorn", "jsonschema", "mcp", "markdown-it-py", "httpx"),
            "psycopg[binary]",
        ],
        "completion": ["argcomplete"],
        "fleet": ["psycopg[binary]"],
        "maps": ["pillow"],
        "mcp": ["jsonschema", "mcp"],
        "notes": ["markdown-it-py"],
        "replay": ["rosbags", "pillow"],
        "services": ["httpx"],
        "trees": ["py_trees>=2.2"],
        "vectors": ["fastembed", "numkong", "onnx", "sentencepiece"],
        "web": ["fastapi>=0.135", "uvicorn"],
    },
    entry_points=(HERE / "scripts" / "entry_points.txt").read_text(),
    # build/ is colcon's.
    options={"build": {"build_base": ".build/pip"}},
)
