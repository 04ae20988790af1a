#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A tiny GPT on random tokens under real DeepSpeed, on a CPU over gloo.

Its ranks are told who they are as torchrun tells them (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_SIZE,
MASTER_ADDR, MASTER_PORT). DeepSpeed itself prints the step lines ("steps_per_print").
"""

import argparse
import base64
import json
import os
import time

import torch
from torch import nn

import gloo_collectives  # noqa: F401  before deepspeed
import deepspeed


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", "0")))
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=100, help="optimizer steps")
    parser.add_argument("--zero", type=int, choices=range(4), help="instead of the configuration's")
    parser.add_argument("--micro_batch", type=int, help="instead of the configuration's")
    parser.add_argument("--step_delay_s", type=float, default=0.0, help="as if it were larger")
    parser.add_argument("--dry-run", action="store_true",
                        help="only tell, as a JSON line, what was read of the configuration")
    parser = deepspeed.add_config_arguments(parser)
    return parser.parse_args()


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(hidden)
        self.before_mlp = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.project = nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, 4 * hidden)
        self.down = nn.Linear(4 * hidden, hidden)

    def forward(self, x, mask):
        batch, length, hidden = x.shape
        per_head = hidden // self.heads
        qkv = self.qkv(self.before_attention(x)).view(batch, length, 3, self.heads, per_head)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        weights = (query @ key.transpose(-1, -2)) * per_head**-0.5 + mask
        mixed = (weights.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, hidden)
        x = x + self.project(mixed)
        return x + self.down(nn.functional.gelu(self.up(self.before_mlp(x))))


class Gpt(nn.Module):
    def __init__(self, options):
        super().__init__()
        length = options.sequence
        self.tokens = nn.Embedding(options.vocabulary, options.hidden)
        self.positions = nn.Embedding(length, options.hidden)
        self.blocks = nn.ModuleList(
            Block(options.hidden, options.heads) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.hidden)
        self.head = nn.Linear(options.hidden, options.vocabulary, bias=False)
        self.register_buffer("mask", torch.full((length, length), -1e9).triu(1))

    def forward(self, x, y):
        hidden = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        for block in self.blocks:
            hidden = block(hidden, self.mask)
        logits = self.head(self.norm(hidden))
        return nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())


def configuration(options):
    """The DeepSpeed configuration, with what the command line says instead."""
    if os.path.exists(options.deepspeed_config):
        with open(options.deepspeed_config, encoding="utf-8") as file:
            config = json.load(file)
    else:  # DeepSpeed's own autotuner gives it inline
        config = json.loads(base64.urlsafe_b64decode(options.deepspeed_config))
    if options.zero is not None:
        config.setdefault("zero_optimization", {})["stage"] = options.zero
    if options.micro_batch is not None:
        config["train_micro_batch_size_per_gpu"] = options.micro_batch
        config.pop("train_batch_size", None)
    options.deepspeed_config = None
    return config


def dry_run(options):
    """What DeepSpeed itself makes of the configuration, without a second rank or a model."""
    read = deepspeed.runtime.config.DeepSpeedConfig(configuration(options))
    print(json.dumps({"ds_config": {
        "train_micro_batch_size_per_gpu": read.train_micro_batch_size_per_gpu,
        "gradient_accumulation_steps": read.gradient_accumulation_steps,
        "zero_optimization": {"stage": read.zero_optimization_stage}}}), flush=True)


def main():
    options = parse_arguments()
    if options.dry_run:
        dry_run(options)
        return
    # Or it would compile its shared-memory collectives here and now.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="gloo", auto_mpi_discovery=False)
    torch.manual_seed(0)
    model = Gpt(options)
    engine, *_ = deepspeed.initialize(args=options, model=model,
                                      model_parameters=model.parameters(),
                                      config=configuration(options))
    micro_batch = engine.train_micro_batch_size_per_gpu()
    chance = torch.Generator().manual_seed(engine.global_rank)
    for _ in range(options.steps):
        for _ in range(engine.gradient_accumulation_steps()):
            tokens = torch.randint(0, options.vocabulary, (micro_batch, options.sequence + 1),
                                   generator=chance)
            loss = engine(tokens[:, :-1], tokens[:, 1:])
            engine.backward(loss)
            engine.step()
        time.sleep(options.step_delay_s)


if __name__ == "__main__":
    main()
