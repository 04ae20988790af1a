#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A GPT-2 of two layers with random weights under Hugging Face's Trainer, on random tokens.

Written as the examples of Transformers are (run_clm.py): all that it knows of DeepSpeed comes with
the Trainer's own flags, or from `accelerate launch`. On a CPU over gloo. When training begins, rank
0 prints as a JSON line what DeepSpeed's engine was given.
"""

import json
from dataclasses import dataclass, field

import torch

import gloo_collectives  # noqa: F401  before deepspeed
import deepspeed
from torch.utils.data import Dataset
from transformers import (GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer,
                          TrainerCallback, TrainingArguments, set_seed)

# Or it would compile its shared-memory collectives here and now.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


@dataclass
class ModelArguments:
    layers: int = field(default=2)
    hidden: int = field(default=64)
    vocabulary: int = field(default=512)
    block_size: int = field(default=64)


class RandomTokens(Dataset):
    def __init__(self, samples, length, vocabulary):
        chance = torch.Generator().manual_seed(1)
        self.tokens = torch.randint(0, vocabulary, (samples, length), generator=chance)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


class TellEngine(TrainerCallback):
    """What became of every "auto"."""

    def __init__(self):
        self.trainer = None

    def on_train_begin(self, args, state, control, **kwargs):
        engine = self.trainer.model_wrapped
        if not state.is_world_process_zero:
            return
        print("engine " + json.dumps({
            "micro_batch": engine.train_micro_batch_size_per_gpu(),
            "accumulation": engine.gradient_accumulation_steps(),
            "global_batch": engine.train_batch_size(),
            "stage": engine.zero_optimization_stage(),
            "clipping": engine.gradient_clipping(),
            "lr": engine.optimizer_params()["lr"],
            "reduce_bucket": engine.zero_reduce_bucket_size(),
        }), flush=True)


def main():
    parser = HfArgumentParser((ModelArguments, TrainingArguments))
    shape, training = parser.parse_args_into_dataclasses()
    set_seed(training.seed)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=shape.vocabulary, n_positions=shape.block_size, n_embd=shape.hidden,
        n_layer=shape.layers, n_head=4))
    tell = TellEngine()
    trainer = Trainer(model=model, args=training, callbacks=[tell],
                      train_dataset=RandomTokens(4096, shape.block_size, shape.vocabulary))
    tell.trainer = trainer
    trainer.train()


if __name__ == "__main__":
    main()
