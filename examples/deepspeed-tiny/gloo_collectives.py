# SPDX-License-Identifier: MIT
"""The two flat collectives that gloo lacks before torch 2.2, for DeepSpeed's ZeRO 1 to 3 on a CPU.

Import it before deepspeed, which looks the functions up when it starts.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as functional


class Pending:
    """What an asynchronous collective returns: `finish` runs once the transfer is over."""

    def __init__(self, work, finish=lambda: None):
        self.work = work
        self.finish = finish

    def wait(self, *_timeout):
        if self.work is not None:
            self.work.wait()
            self.work = None
            self.finish()
        return True

    def is_completed(self):
        return self.work is None or self.work.is_completed()


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    parts = list(output_tensor.view(-1).chunk(dist.get_world_size(group)))  # views of the output
    work = dist.all_gather(parts, input_tensor.contiguous().view(-1), group=group,
                           async_op=async_op)
    return Pending(work) if async_op else None


def reduce_scatter_tensor(output, input, op=dist.ReduceOp.SUM, group=None, async_op=False):
    """gloo has no reduce-scatter: sums up everything everywhere, and keeps one part."""
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    whole = input.clone().view(-1)
    work = dist.all_reduce(whole, op=op, group=group, async_op=async_op)

    def finish():
        output.view(-1).copy_(whole.chunk(size)[rank])

    if async_op:
        return Pending(work, finish)
    finish()
    return None


def install():
    version = torch.__version__.split("+", maxsplit=1)[0]
    if tuple(int(part) for part in version.split(".")[:2]) < (2, 2):
        for module in (dist, dist.distributed_c10d):
            module.all_gather_into_tensor = module._all_gather_base = all_gather_into_tensor
            module.reduce_scatter_tensor = module._reduce_scatter_base = reduce_scatter_tensor
        if hasattr(dist.distributed_c10d, "_coalescing_manager"):
            del dist.distributed_c10d._coalescing_manager
    if not hasattr(functional, "scaled_dot_product_attention"):
        # DeepSpeed's flops profiler wraps it by its name.
        functional.scaled_dot_product_attention = functional._scaled_dot_product_attention


install()
