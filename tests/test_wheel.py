"""What people install: a wheel that plays from an empty folder, and a source archive with everything in it."""

import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_an_installed_wheel_plays_from_an_empty_folder(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, text=True, timeout=300)
    archive = next((tmp_path / "dist").glob("*.tar.gz"))
    with tarfile.open(archive) as opened:
        names = opened.getnames()
    assert any(n.endswith("games/visby/visby.rule") for n in names) and any(n.endswith("stdlib/split.rule") for n in names)
    wheel = next((tmp_path / "dist").glob("*.whl"))
    target = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, text=True, timeout=300)
    empty = tmp_path / "empty"
    empty.mkdir()

    def run(*args: str) -> str:
        code = f"import sys; sys.path.insert(0, {str(target)!r}); sys.argv[1:] = {args!r}; from rulelang.cli import main; main()"
        done = subprocess.run([sys.executable, "-c", code], cwd=empty, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Result" in run("play", "visby", "--seats", "random,random", "--seed", "1")
    assert "has their talers" in run("explain", "R301")
