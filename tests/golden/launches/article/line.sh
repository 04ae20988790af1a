deepspeed --autotuning run --num_nodes=$NNODES --num_gpus=$NGPUS $HF_PATH/transformers/examples/pytorch/language-modeling/run_clm.py --deepspeed $DS_CONFIG \
  --model_name_or_path $MODEL_NAME --dataset_name wikitext --dataset_config_name wikitext-2-raw-v1 --do_train --do_eval --fp16 \
  --per_device_train_batch_size $PER_DEVICE_TRAIN_BATCH_SIZE --gradient_accumulation_steps $GRADIENT_ACCUMULATION_STEPS \
  --learning_rate 2e-5 --num_train_epochs $NEPOCHS --output_dir ${OUTPUT_DIR} --overwrite_output_dir
