"""Draws docs/images/desk.png: the desk of the demonstration in a browser. Run it by: python -m tools.desk_picture."""

import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from gedp.desk.app import Desk, application
from gedp.desk.catalogue import Catalogue
from gedp.desk.server import LOOPBACK, address_of, listen, make_server
from gedp.microdata.on_file import find_microdata
from gedp.release import read_release
from tests.conftest import CHROMIUM, FLAGS

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "desk.png"
VIEW = "?rows=sector&attribute=m3emp&attribute=wage&ratio=weekly-wage&where=cnty%3D001&sort=0&descending=true"
WIDTH, HEIGHT, COLOURS = 1180, 1000, 48


def main() -> None:
    """Makes the demonstration, serves its desk, and takes a picture."""
    with tempfile.TemporaryDirectory() as text, listen(LOOPBACK, 0) as listening, sync_playwright() as playwright:
        folder = Path(text)
        subprocess.run([sys.executable, "-m", "gedp", "demo", "--out", str(folder / "demo")], check=True)
        microdata = find_microdata(read_release(folder / "demo" / "out"))
        server = make_server(application(Desk(Catalogue(microdata, "demo/out"))))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(address_of(listening) + VIEW)
        page.wait_for_selector("#figure svg")
        page.screenshot(path=folder / "desk.png")
        browser.close()
        server.should_exit = True
        thread.join()
        with Image.open(folder / "desk.png") as image:
            image.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"Wrote {PICTURE}: {PICTURE.stat().st_size:,} bytes.")


if __name__ == "__main__":
    main()
