"""Becomes the Milvus of PyPI's `milvus`: DATA HEALTH_PORT PORT,PORT,… and settings such as log.level=error.

Its command `milvus-server` starts Milvus as a child, which outlives it when it is killed, and unpacks 300 MB into each folder of data.
"""

import fcntl, os, sys
from milvus import MilvusServerConfig, _initialize_data_files

data, health, ports, *settings = sys.argv[1:]
unpacked = os.path.join(sys.prefix, "milvus")
os.makedirs(unpacked, exist_ok=True)
with open(os.path.join(unpacked, "lock"), "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    _initialize_data_files(unpacked)

config = MilvusServerConfig(data_dir=data)
names = sorted((name for name in config.configurable_items if name.endswith("_port")), key="proxy_port".__ne__)
for name, port in zip(names, ports.split(","), strict=True):
    config.set(name, int(port))
for name, value in (setting.split("=", 1) for setting in settings):
    config.set(name, value)
config.resolve_storage()
config.write_config()

libraries = os.path.join(unpacked, "bin")
environment = {"DEPLOY_MODE": "STANDALONE", "METRICS_PORT": health, "MILVUS_RUN_DIR": os.path.join(data, "run"), "LD_LIBRARY_PATH": libraries}
os.chdir(data)
os.execve(os.path.join(libraries, "milvus"), [os.path.join(data, "milvus"), "run", "standalone"], {**os.environ, **environment})
