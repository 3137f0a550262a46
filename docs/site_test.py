"""Tests of the site: python3 docs/site_test.py [CHROMIUM]. Exit status 77 without markdown-it."""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BROWSER = ""

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("build_site", str(HERE / "build_site"))
build_site = importlib.util.module_from_spec(importlib.util.spec_from_loader("build_site", loader))
loader.exec_module(build_site)


class TheSite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.own = tempfile.TemporaryDirectory(prefix="smemtune-site-")
        cls.folder = pathlib.Path(cls.own.name) / "site"
        subprocess.run([sys.executable, str(HERE / "build_site"), str(cls.folder)], check=True,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.own.cleanup()

    def read(self, page):
        return (self.folder / page).read_text(encoding="utf-8")

    def test_has_every_function_of_the_c_interface(self):
        header = (ROOT / "tuner/library/include/smemtune/smemtune_c.h").read_text(encoding="utf-8")
        functions = re.findall(r"^SMEMTUNE_API [^(]*?(smemtune_\w+)\(", header, re.MULTILINE)
        structs = re.findall(r"^typedef (?:struct|enum) (\w+) \{", header, re.MULTILINE)
        self.assertGreater(len(functions), 15)
        page = self.read("api/c.html")
        for name in functions + structs:
            self.assertIn(name, page)
        for name in structs:
            self.assertIn(f'id="{name}"', page)

    def test_has_every_public_name_in_python_and_what_the_cpp_interface_has(self):
        sys.path.insert(0, str(ROOT / "python"))
        import smemtune

        page = self.read("api/python.html")
        for name in smemtune.__all__:
            self.assertIn(f'id="{name.lower()}"', page)
        self.assertIn("Sizes are in elements, memory in bytes", page)
        self.assertNotIn("_Bytes", page)
        for name in ("results", "tunedkernel", "plan_kernel", "choice"):
            self.assertIn(f'id="{name}"', self.read("api/cpp.html"))

    def test_pages_need_no_network(self):
        for path in self.folder.rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            self.assertFalse(re.search(r'<(?:script|link|img)[^>]+(?:src|href)="[a-z]+:', text), path)

    def test_the_search_knows_every_section(self):
        text = self.read("search.js").split("\n", 1)[0]
        sections = json.loads(text[len("const sections = "):].rstrip(";").replace("<\\/", "</"))
        headings = {(page, heading) for page, _, _, heading, _ in sections}
        self.assertIn(("docs/python.html", "Calling a kernel"), headings)
        self.assertIn(("docs/commands.html", "smemtune export"), headings)
        self.assertGreater(len(sections), 200)

    def test_the_search_finds_in_a_browser(self):
        if not BROWSER:
            self.skipTest("no Chromium")
        page = f"file://{self.folder}/docs/tutorial.html?q=smemtune_launch%20stream"
        shown = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000",
             "--dump-dom", page],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=100, check=True).stdout
        found = shown.split('<div id="found">', 1)[1].split("</div>", 1)[0]
        self.assertIn('<a href="../api/c.html#smemtune_launch">', found)


class Faults(unittest.TestCase):
    """Faults that the site is not built with."""

    def site(self, pages):
        own = tempfile.TemporaryDirectory(prefix="smemtune-site-")
        self.addCleanup(own.cleanup)
        root = pathlib.Path(own.name)
        (root / "docs").mkdir()
        for name, text in pages.items():
            (root / name).write_text(text, encoding="utf-8")
        kept = build_site.ROOT, build_site.MENU, build_site.api_pages
        self.addCleanup(lambda: [setattr(build_site, name, value) for name, value in
                                 zip(("ROOT", "MENU", "api_pages"), kept)])
        build_site.ROOT, build_site.api_pages = root, dict
        build_site.MENU = {"All": ["README.md"]}
        (root / "out").mkdir()
        build_site.Site(root / "out").build()
        return root / "out"

    def test_a_link_to_nothing(self):
        with self.assertRaisesRegex(build_site.Wrong, "README.md: the link to missing.md leads nowhere"):
            self.site({"README.md": "# A\n\n[x](missing.md)\n"})

    def test_a_link_to_a_heading_that_is_not_there(self):
        out = self.site({"README.md": "# A\n\n[x](other.md#none)\n", "other.md": "# B\n"})
        with self.assertRaisesRegex(build_site.Wrong, "index.html: other.html#none has no such heading"):
            build_site.check_links(out)

    def test_a_page_that_the_menu_lacks(self):
        with self.assertRaisesRegex(build_site.Wrong, "docs/new.md: not in the menu"):
            self.site({"README.md": "# A\n", "docs/new.md": "# N\n"})

    def test_a_page_without_a_title(self):
        with self.assertRaisesRegex(build_site.Wrong, "README.md: has no title"):
            self.site({"README.md": "Words.\n"})
        with self.assertRaisesRegex(build_site.Wrong, "other.md: has no title"):
            self.site({"README.md": "# A\n\n[x](other.md)\n", "other.md": "Words.\n"})

    def test_html_of_a_page_is_text(self):
        out = self.site({"README.md": "# A <b>\n\n<script>alert(1)</script>\n"})
        text = (out / "index.html").read_text(encoding="utf-8")
        self.assertNotIn("<script>alert", text)
        self.assertIn("&lt;script&gt;", text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BROWSER = sys.argv.pop(1)
    unittest.main()
