// SPDX-License-Identifier: MIT
#pragma once

// The one place that knows which Catch2 is used. Tests keep to what version 2 and version 3 have in
// common: TEST_CASE, SECTION, REQUIRE, CHECK, Approx, GENERATE; no SKIP.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>  // version 3
using Catch::Approx;
#else
#include <catch2/catch.hpp>  // version 2
#endif
