// Widths, colours and line breaks of readable text.
#include "runner/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "catch.h"

using namespace kbench;

TEST_CASE("the width of text counts characters and not colours") {
  CHECK(width_of("±1") == 2);
  CHECK(width_of(paint({0, true}, Paint::red, "FAIL")) == 4);
  CHECK(pad(paint({0, true}, Paint::red, "F"), 3) == "\x1b[31mF\x1b[0m  ");
  CHECK(pad_left("±", 3) == "  ±");
  CHECK(pad_left("long", 3) == "long");
}

TEST_CASE("text is painted only where the style has colours") {
  CHECK(paint({0, false}, Paint::bold, "x") == "x");
  CHECK(paint({0, true}, Paint::plain, "x") == "x");
  CHECK(paint({0, true}, Paint::bold, "x") == "\x1b[1mx\x1b[0m");
}

TEST_CASE("lines break between words") {
  CHECK(wrap("one two three", 0, 0) == "one two three");
  CHECK(wrap("one two three", 0, 7) == "one two\nthree");
  CHECK(wrap("one two three", 2, 9) == "one two\n  three");
  CHECK(wrap("averylongword two", 2, 6) == "averylongword\n  two");
  CHECK(wrap("", 2, 6).empty());
}

TEST_CASE("what is no terminal has no width and colours only when they are asked for") {
  const TextStyle automatic = text_style(-1, ColorChoice::automatic);
  CHECK(automatic.width == 0);
  CHECK_FALSE(automatic.color);
  CHECK(text_style(-1, ColorChoice::always).color);
  CHECK_FALSE(text_style(-1, ColorChoice::never).color);
}

TEST_CASE("the terminal that Open MPI gives to a rank is none that people look at") {
  const int fd = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(fd >= 0);
  setenv("TERM", "xterm", 1);
  CHECK(is_terminal(fd));
  CHECK(text_style(fd, ColorChoice::never).width >= 40);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  CHECK_FALSE(is_terminal(fd));
  CHECK(text_style(fd, ColorChoice::automatic).width == 0);
  CHECK_FALSE(text_style(fd, ColorChoice::automatic).color);
  unsetenv("OMPI_COMM_WORLD_RANK");
  close(fd);
}
