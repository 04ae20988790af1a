# SPDX-License-Identifier: MIT
"""Spaces to build: those of published GPU kernels, written from their descriptions, and made-up
ones. Constraints are written as slurmtune has them; `python_text` gives what Python reads.

The kernels: dedispersion, hotspot, pnpoly, convolution and GEMM (CLBlast's) as the BAT benchmark
suite describes them (Torring, van Werkhoven et al., "Towards a benchmarking suite for kernel
tuners", 2023); the advection kernel of MicroHH and ExpDist as in Willemsen, van Nieuwpoort, van
Werkhoven, "Efficient construction of large search spaces for auto-tuning", 2025; tiled loops with
chains of divisors as ATF's authors use them (Rasch, Schulze, Steuwer, Gorlatch, TACO 18, 2021).
Values that a description leaves open are chosen so that the sizes are like theirs.
"""

import random


class Space:
    def __init__(self, name, parameters, constraints):
        self.name = name
        self.parameters = parameters
        self.constraints = constraints

    def cartesian(self):
        size = 1
        for values in self.parameters.values():
            size *= len(values)
        return size

    def study(self):
        lines = ["format = 1", 'name = "bench"', "[trial]", 'command = ["true"]']
        for name, values in self.parameters.items():
            lines += ["[[parameter]]", f'name = "{name}"', 'type = "int"',
                      f"values = {list(values)}", f'target = "env:{name}"']
        for constraint in self.constraints:
            lines += ["[[constraint]]", f"expr = '{constraint}'"]
        return "\n".join(lines) + "\n"


def python_text(constraint):
    return constraint.replace("&&", "and").replace("||", "or")


def dedispersion():
    return Space("dedispersion", {
        "block_size_x": [1, 2, 4, 8] + [16 * i for i in range(1, 33)],
        "block_size_y": [4 * i for i in range(1, 33)],
        "tile_size_x": range(1, 5), "tile_size_y": range(1, 9),
        "tile_stride_x": [0, 1], "tile_stride_y": [0, 1],
        "loop_unroll": [0, 1]}, [
            "block_size_x * block_size_y >= 32 && block_size_x * block_size_y <= 1024",
            "tile_stride_x == 0 || tile_size_x > 1",
            "tile_stride_y == 0 || tile_size_y > 1"])


def hotspot():
    shared = ("(block_size_x * tile_size_x + temporal * 2) * (block_size_y * tile_size_y + "
              "temporal * 2) * (2 + sh_power) * 4")
    return Space("hotspot", {
        "block_size_x": [1, 2, 4, 8, 16] + [32 * i for i in range(1, 33)],
        "block_size_y": [1, 2, 4, 8, 16, 32],
        "tile_size_x": range(1, 11), "tile_size_y": range(1, 11),
        "temporal": range(1, 11), "loop_unroll": range(1, 11),
        "sh_power": [0, 1], "blocks_per_sm": [0, 1, 2, 3, 4]}, [
            "block_size_x * block_size_y >= 32 && block_size_x * block_size_y <= 1024",
            "temporal % loop_unroll == 0",
            "block_size_x * tile_size_x > temporal * 2",
            "block_size_y * tile_size_y > temporal * 2",
            f"{shared} <= 49152",
            f"blocks_per_sm == 0 || ({shared} * blocks_per_sm <= 67584 && "
            "block_size_x * block_size_y * blocks_per_sm <= 2048)"])


def pnpoly():
    return Space("pnpoly", {
        "block_size_x": [32 * i for i in range(1, 33)],
        "tile_size": [1] + [2 * i for i in range(1, 11)],
        "between_method": range(4), "use_precomputed_slopes": [0, 1], "use_method": range(3)}, [
            "block_size_x * tile_size <= 16384",
            "between_method == 0 || use_precomputed_slopes == 0"])


def convolution():
    return Space("convolution", {
        "block_size_x": [1, 2, 4, 8] + [16 * i for i in range(1, 17)],
        "block_size_y": [1, 2, 4, 8, 16, 32],
        "tile_size_x": range(1, 9), "tile_size_y": range(1, 9),
        "read_only": [0, 1], "use_padding": [0, 1], "use_shmem": [0, 1],
        "filter_width": [17], "filter_height": [17]}, [
            "use_padding == 0 || (use_shmem == 1 && block_size_x % 32 != 0)",
            "block_size_x * block_size_y >= 64 && block_size_x * block_size_y <= 1024",
            "tile_size_x * tile_size_y < 30",
            "use_shmem == 0 || (block_size_x * tile_size_x + filter_width - 1) * "
            "(block_size_y * tile_size_y + filter_height - 1) * 4 <= 49152",
            "read_only == 0 || use_shmem == 0"])


def gemm():
    return Space("gemm", {
        "MWG": [16, 32, 64, 128], "NWG": [16, 32, 64, 128], "KWG": [16, 32],
        "MDIMC": [8, 16, 32], "NDIMC": [8, 16, 32], "MDIMA": [8, 16, 32], "NDIMB": [8, 16, 32],
        "KWI": [2, 8], "VWM": [1, 2, 4, 8], "VWN": [1, 2, 4, 8],
        "STRM": [0, 1], "STRN": [0, 1], "SA": [0, 1], "SB": [0, 1]}, [
            "KWG % KWI == 0",
            "MWG % (MDIMC * VWM) == 0", "NWG % (NDIMC * VWN) == 0",
            "MWG % (MDIMA * VWM) == 0", "NWG % (NDIMB * VWN) == 0",
            "KWG % ((MDIMC * NDIMC) / MDIMA) == 0", "KWG % ((MDIMC * NDIMC) / NDIMB) == 0",
            "SA * KWG * MWG * 4 + SB * KWG * NWG * 4 <= 49152",
            "MDIMC * NDIMC <= 1024"])


def microhh():
    return Space("microhh", {
        "static_strides": [0, 1], "tiling_x": [1, 2, 4, 8], "tiling_y": [1, 2, 4],
        "tiling_z": [1, 2, 4], "unroll_x": [1, 2, 4, 8], "unroll_y": [1, 2, 4],
        "unroll_z": [1, 2, 4], "strategy": [0, 1, 2], "blocks_per_mp": [0, 1, 2, 3, 4],
        "block_size_x": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
        "block_size_y": [1, 2, 4, 8, 16, 32], "block_size_z": [1, 2, 4]}, [
            "block_size_x * block_size_y * block_size_z >= 32",
            "block_size_x * block_size_y * block_size_z <= 1024",
            "tiling_x % unroll_x == 0", "tiling_y % unroll_y == 0", "tiling_z % unroll_z == 0",
            "strategy == 0 || tiling_x > 1", "strategy != 1 || tiling_z > 1",
            "blocks_per_mp * block_size_x * block_size_y * block_size_z <= 2048"])


def expdist():
    return Space("expdist", {
        "block_size_x": [32 * i for i in range(1, 33)],
        "block_size_y": [2 ** i for i in range(6)],
        "tile_size_x": range(1, 9), "tile_size_y": range(1, 9), "use_shared": [0, 1, 2],
        "loop_unroll_x": range(1, 9), "loop_unroll_y": range(1, 9),
        "use_column": [0, 1], "n_y_blocks": [2 ** i for i in range(11)]}, [
            "block_size_x * block_size_y >= 32 && block_size_x * block_size_y <= 1024",
            "tile_size_x % loop_unroll_x == 0", "tile_size_y % loop_unroll_y == 0",
            "use_shared == 0 || (block_size_x * tile_size_x + block_size_y * tile_size_y) * 24 "
            "<= 49152",
            "use_column == 1 || n_y_blocks == 1"])


def tiled(size):
    """Two loops, each cut into blocks for work-groups, work-items and registers."""
    values = [i for i in range(1, size + 1)]
    parameters, constraints = {}, []
    for loop in ("row", "column"):
        parameters.update({f"{loop}_groups": values, f"{loop}_items": values,
                           f"{loop}_local": values, f"{loop}_private": values})
        constraints += [f"{size} % {loop}_local == 0", f"{loop}_local % {loop}_private == 0",
                        f"{loop}_groups <= {size} / {loop}_local",
                        f"{loop}_items <= {loop}_local / {loop}_private"]
    constraints.append("row_items * column_items <= 16")
    constraints.append("row_local * column_local * 4 <= 64 * 64")
    return Space(f"tiled {size}x{size}", parameters, constraints)


def made_up(seed, parameters, points, rules):
    """As in Willemsen et al.: values 1 to n for all; products, sums, remainders, bounds."""
    chance = random.Random(seed)
    count = round(points ** (1.0 / parameters))
    names = [f"p{i}" for i in range(parameters)]
    constraints = []
    for _ in range(rules):
        a, b, c = (chance.sample(names, 3) + names)[:3]
        constraints.append(chance.choice([
            f"{a} * {b} <= {chance.randint(count, count * count // 2)}",
            f"{a} + {b} >= {chance.randint(2, count)}",
            f"{a} % {b} == 0",
            f"{a} <= {b} + {chance.randint(0, count // 2)}",
            f"{a} * {b} * {c} <= {chance.randint(count * count, count ** 3 // 2)}",
            f"{a} * {b} + {c} >= {chance.randint(2, count)}"]))
    return Space(f"made up {parameters}d 1e{len(str(points)) - 1} #{seed}",
                 {name: range(1, count + 1) for name in names}, constraints)


def all_spaces():
    return [dedispersion(), pnpoly(), convolution(), hotspot(), gemm(), microhh(), expdist(),
            tiled(4), tiled(8), tiled(13),
            made_up(1, 3, 10**5, 2), made_up(2, 4, 10**5, 4), made_up(3, 5, 10**6, 5),
            made_up(4, 6, 10**6, 6), made_up(5, 4, 10**7, 4), made_up(6, 5, 10**8, 8),
            made_up(7, 6, 10**9, 8), made_up(8, 9, 10**9, 9), made_up(9, 3, 10**9, 3)]
