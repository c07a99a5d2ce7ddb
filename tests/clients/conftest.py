"""Tests beside other libraries are collected where `make test-clients` asks for them."""

import os

collect_ignore_glob = [] if os.environ.get("SKSTRETCH_CLIENTS") else ["test_*.py"]
