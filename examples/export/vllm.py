#!/usr/bin/env python3
"""Chooses a configuration as vLLM does for its fused kernels: the one of the nearest batch size.

    smemtune export --source own,shared --space gemm_tc --kernel wgmma --device H200 \\
      --problem K=4096,N=4096,OUT=__nv_bfloat16,T=__nv_bfloat16,TRANSPOSED=1 --format vllm \\
      -o "K=4096,N=4096,device_name=NVIDIA_H200.json"
    python3 vllm.py "K=4096,N=4096,device_name=NVIDIA_H200.json" 100
"""

import json
import sys


def main(file, size):
    with open(file, encoding="utf-8") as opened:
        configurations = {int(key): value for key, value in json.load(opened).items()}
    nearest = min(configurations, key=lambda known: abs(known - size))
    print(f"{size}: that of {nearest}: {configurations[nearest]}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
