// SPDX-License-Identifier: MIT
#include "slurmtune/cli/interrupt.hpp"

namespace slurmtune {

namespace {

volatile std::sig_atomic_t interrupt_noted = 0;
volatile std::sig_atomic_t end_noted = 0;

extern "C" void note_signal(int signal) { (signal == SIGUSR1 ? end_noted : interrupt_noted) = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  ::sigaction(SIGINT, &action, &old_int_);
  ::sigaction(SIGTERM, &action, &old_term_);
  ::sigaction(SIGUSR1, &action, &old_usr1_);
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &old_int_, nullptr);
  ::sigaction(SIGTERM, &old_term_, nullptr);
  ::sigaction(SIGUSR1, &old_usr1_, nullptr);
}

bool InterruptGuard::interrupted() { return interrupt_noted != 0; }
bool InterruptGuard::time_is_up() { return end_noted != 0; }
void InterruptGuard::set_time_is_up() { end_noted = 1; }

}  // namespace slurmtune
