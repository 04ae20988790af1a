#!/bin/bash
# The best configuration that slurmtune found: z1_gas2_tmbspg14
# study     gpt2 (STUDY-ID)
# measured  690 samples/s (95 % interval 688.3 to 691.7), 3 repeats, on 2 x 4 processes
# speed-up  2.77 times (95 % interval 2.77 to 2.77) over the baseline z1_gas2_tmbspg1

if [ -z "${SLURM_JOB_ID:-}" ]; then
    echo "$0: runs inside a job of 2 nodes: sbatch train_optimal.sbatch beside it does that" >&2
    exit 2
fi
cd /TMP/deepspeed || exit 1
source venv/bin/activate

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=$((29500 + SLURM_JOB_ID % 1000))
export MASTER_ADDR MASTER_PORT
export SLURMTUNE_DS_CONFIG=/TMP/deepspeed/out/best/ds_config_optimal.json
export OMP_NUM_THREADS=8

# Every rank learns its place, as in the trials. mpirun's word first: Slurm's may be the job's.
tell_rank='
export RANK=${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}
export LOCAL_RANK=${OMPI_COMM_WORLD_LOCAL_RANK:-$SLURM_LOCALID}
export WORLD_SIZE=8 LOCAL_WORLD_SIZE=4 LOCAL_SIZE=4 NODE_RANK=$((RANK / 4))
export PYTHONUNBUFFERED=1
exec "$@"'
exec srun --mpi=pmix --mem=0 --kill-on-bad-exit=1 -N 2 -n 8 bash -c "$tell_rank" rank python3 train.py --deepspeed /TMP/deepspeed/out/best/ds_config_optimal.json --data 'my corpus'
