"""Cases of the rules about classes, units and functions; tidy_test.py runs them."""

from cpp_classes import classes_of, definitions_of
from cpp_source import CppFile
from planted import HEADER, PlantedTest, body, includes


def class_with(methods: int, members: int, name: str = "Tape") -> str:
    return (HEADER + "namespace gcoord::ledger {\n" f"class {name} {{\n public:\n"
            + "".join(f"  void f{at}(int x);\n" for at in range(methods))
            + " private:\n" + "".join(f"  int x{at}_ = 0;\n" for at in range(members)) + "};\n}  // namespace\n")


class ClassesTest(PlantedTest):
    def counted(self, text: str) -> dict:
        return {each.name: (each.methods, each.members) for each in classes_of(CppFile.parse("ledger/tape.h", text))}

    def test_a_class_of_46_methods_or_21_members_is_found(self):
        self.expect("class", "ledger/tape.h", 5, {"ledger/tape.h": class_with(46, 20)})
        self.expect("class", "ledger/tape.h", 5, {"ledger/tape.h": class_with(45, 21)})
        self.expect_none("class", {"ledger/tape.h": class_with(45, 20)})

    def test_lists_of_values_may_have_many_members(self):
        self.expect_none("class", {"ledger/tape.h": class_with(2, 40, "TapeOptions")})
        self.expect_none("class", {"ledger/tape.h": class_with(0, 33)})
        self.expect("class", "ledger/tape.h", 5, {"ledger/tape.h": class_with(0, 34)})

    def test_the_public_client_is_excused(self):
        text = class_with(60, 1, "Client").replace("ledger", "client")
        self.expect_none("class", {"client/include/gcoord/client.h": text})

    def test_a_class_in_four_sources_is_found(self):
        planted = {f"ledger/tape_{at}.cc": "#include \"ledger/tape.h\"\n\nnamespace gcoord::ledger {\n"
                   f"void Tape::f{at}(int x) {{\n  ++x;\n}}\n}}\n" for at in range(4)}
        self.expect("class", "ledger/tape.h", 5, planted | {"ledger/tape.h": class_with(4, 1)})
        del planted["ledger/tape_3.cc"]
        self.expect_none("class", planted | {"ledger/tape.h": class_with(4, 1)})

    def test_methods_and_members_are_told_apart(self):
        text = HEADER + """namespace gcoord {
template <typename T>
class Box final : public Base<T>, private Sink {
 public:
  explicit Box(int size) : size_{size}, more_(size) {}
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  ~Box() override;
  bool operator<(const Box& other) const { return size_ < other.size_; }
  friend bool operator==(const Box&, const Box&) = default;
  using Callback = std::function<void(int)>;
  enum class Kind { A, B };
  [[nodiscard]] std::map<int, std::vector<int>> all() const
      requires(sizeof(T) > 4);
  template <typename U>
  void take(U&& value) noexcept(true) { use(value); }
  static int count();
  virtual void on_frame(int a, int b) = 0;
  struct Nested {
    int deep = 0;
    void g();
  };

 private:
  static constexpr int kMost = 3;
  Callback on_done_;
  std::function<void(int, int)> call_ = [](int a, int b) { use(a, b); };
  int size_ = 0, more_;
  std::uint8_t bit_ : 1;
  Sink& sink_;
  const Box* next_ = nullptr;
  int (*pointer_)(int) = nullptr;
  std::array<int, 4> four_{};
  alignas(64) std::atomic<int> word_{0};
};
}  // namespace gcoord
"""
        self.assertEqual(self.counted(text), {"Box::Nested": (1, 1), "Box": (9, 10)})

    def test_a_nested_class_defined_apart_counts_for_itself(self):
        self.assertEqual(self.counted("class Tape::Core : public Events {\n  void f();\n  int x_;\n};\n"), {"Tape::Core": (1, 1)})
        file = CppFile.parse("ledger/tape.cc", "namespace a {\nTape::Core::Core(int x) : x_(x) {}\n\n"
                             "std::map<int, Tape::Key> Tape::Core::turn(const Tape& x) {\n  return x;\n}\n\nint free(Tape::Key x) {\n"
                             "  return 1;\n}\nbool Set<T>::operator()(int x) {\n  return x;\n}\n}\n")
        self.assertEqual(list(definitions_of(file)), ["Tape::Core", "Tape::Core", "Set"])

    def test_two_classes_of_one_qualified_name_are_found(self):
        row = "struct Row {\n  int at() const { return 1; }\n};\n"
        planted = {"ledger/tape.h": HEADER + "namespace gcoord {\n" + row + "}\n"}
        places = {"locks/row.h": 5, "locks/row.cc": 2, "tests/locks/row_test.cc": 2, "tests/locks/samples.h": 5}
        for path, line in places.items():
            head = HEADER if path.endswith(".h") else ""
            self.expect("one-definition", path, line, planted | {path: head + "namespace gcoord {\n" + row + "}\n"})
        for text in ("namespace gcoord {\nnamespace {\n" + row + "}\n}\n", "namespace gcoord::locks {\n" + row + "}\n",
                     "namespace gcoord {\nstruct Row;\nvoid f() {\n" + row + "}\n}\n",
                     "namespace gcoord {\nstruct Table {\n" + row + "};\n}\n"):
            self.expect_none("one-definition", planted | {"locks/row.cc": text})

    def test_two_tests_that_link_the_same_room_share_its_names(self):
        fixture = "namespace gcoord {\nclass Rig final : public testing::Test {\n  int turn() { return 1; }\n};\n}\n"
        self.expect("one-definition", "tests/ledger/b_test.cc", 2,
                    {"tests/ledger/a_test.cc": fixture, "tests/ledger/b_test.cc": fixture})
        self.expect_none("one-definition", {"client/examples/a.cc": fixture, "client/examples/b.cc": fixture})

    def test_a_specialisation_is_a_definition_of_its_own(self):
        text = "template <>\nstruct std::hash<gcoord::{}> {{\n  int operator()(int x) const;\n}};\n"
        planted = {"ledger/tape.h": HEADER + text.format("Row")}
        self.expect("one-definition", "locks/row.h", 5, planted | {"locks/row.h": HEADER + text.format("Row")})
        self.expect_none("one-definition", planted | {"locks/row.h": HEADER + text.format("Term")})

    def test_an_environment_of_nine_is_found(self):
        self.expect("environment", "ledger/tape.h", 5, {"ledger/tape.h": class_with(0, 9, "TapeEnvironment")})
        self.expect_none("environment", {"ledger/tape.h": class_with(0, 8, "Environment")})

    def test_a_unit_that_includes_21_files_of_the_project_is_found(self):
        names = [f"common/a{at}.h" for at in range(21)]
        planted = {"ledger/tape.cc": includes("ledger/tape.h", *names[:19]), "ledger/tape.h": HEADER + includes(*names[18:])}
        self.expect("fan-out", "ledger/tape.cc", 1, planted)
        self.expect_none("fan-out", planted | {"ledger/tape.h": HEADER + includes(*names[18:20])})

    def test_a_function_of_four_parameters_is_found(self):
        text = "#include \"common/hash.h\"\n\nint f(std::map<int, int> a, int b = g(1, 2), int (*c)(int, int), int d) " + body(3)
        self.expect("parameters", "common/hash.cc", 3, {"common/hash.cc": text})
        self.expect_none("parameters", {"common/hash.cc": text.replace(", int d", "")})

    def test_the_call_operator_has_its_own_parameters(self):
        text = "struct Less {\n  bool operator()(int a, int b, int c, int d) const { return a < b; }\n};\n"
        self.expect("parameters", "common/hash.cc", 2, {"common/hash.cc": text})
