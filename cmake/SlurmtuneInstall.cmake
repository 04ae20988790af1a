# SPDX-License-Identifier: MIT
#
# What is installed besides the programs and plug-ins (see SlurmtuneTargets.cmake).

set(slurmtune_data_dir "${CMAKE_INSTALL_DATADIR}/slurmtune")
install(DIRECTORY templates/ DESTINATION "${slurmtune_data_dir}/templates")
install(DIRECTORY site-configs/ DESTINATION "${slurmtune_data_dir}/site-configs")
install(DIRECTORY scripts/sbatch/ DESTINATION "${slurmtune_data_dir}/sbatch")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
