"""The mirror for the image is the one that the host's apt uses: real source lists, old style and new."""

import textwrap

import pytest

from scripts.provision.mirror import AptSource, host_mirror, parse_deb822, parse_list

BOOKWORM = 'ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'
NOBLE = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n"
DEB822 = """\
    Types: deb
    # http://snapshot.example/archive/debian/20250520T000000Z
    URIs: http://mirror.example/debian
    Suites: bookworm bookworm-updates
    Components: main
    Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

    Types: deb
    URIs: http://mirror.example/debian-security
    Suites: bookworm-security
    Components: main
    """
THIRD_PARTY = "deb [arch=amd64 signed-by=/x.gpg] https://packages.example/apt cloud-sdk-bookworm main\n"


@pytest.fixture
def etc(tmp_path):
    def write(release, **files):
        folder = tmp_path / "etc"
        (folder / "apt" / "sources.list.d").mkdir(parents=True)
        (folder / "os-release").write_text(release)
        for name, text in files.items():
            place = "apt/sources.list" if name == "sources" else f"apt/sources.list.d/{name.replace('__', '.')}"
            (folder / place).write_text(textwrap.dedent(text))
        return folder

    return write


ONE_LINE = """\
# deb http://old.example x main
deb [trusted=yes arch=amd64] http://m.example/debian bookworm main contrib # why
deb-src http://m.example/debian bookworm main
"""
FOLDED_AND_DISABLED = """\
Types: deb deb-src
URIs: http://a.example/debian
 http://b.example/debian
Suites: trixie
Components: main

Enabled: no
Types: deb
URIs: http://off.example
Suites: trixie
Components: main
"""


def test_one_line_style_with_options_and_comments():
    assert list(parse_list(ONE_LINE)) == [AptSource(("http://m.example/debian",), ("bookworm",), ("main", "contrib"))]


def test_deb822_style_with_folded_lines_and_a_disabled_stanza():
    assert list(parse_deb822(FOLDED_AND_DISABLED)) == [
        AptSource(("http://a.example/debian", "http://b.example/debian"), ("trixie",), ("main",))
    ]


def test_the_main_archive_is_chosen_not_security_nor_a_third_partys(etc):
    found = host_mirror(etc(BOOKWORM, a__list=THIRD_PARTY, debian__sources=DEB822))
    assert found == "http://mirror.example/debian"


def test_the_old_sources_list_is_read_and_a_trailing_slash_dropped(etc):
    text = "deb cdrom:[Debian 12]/ bookworm main\ndeb http://ftp.example/debian/ bookworm main\n"
    assert host_mirror(etc(BOOKWORM, sources=text)) == "http://ftp.example/debian"


def test_a_release_named_stable_counts(etc):
    assert host_mirror(etc(BOOKWORM, sources="deb http://m.example/debian stable main")) == "http://m.example/debian"


@pytest.mark.parametrize(
    ("release", "sources"),
    [
        (NOBLE, "deb http://archive.example/ubuntu noble main universe"),
        (BOOKWORM, "deb mirror+file:/etc/apt/mirrors.txt bookworm main"),
        (BOOKWORM, "deb http://m.example/debian bookworm contrib"),
        (BOOKWORM, ""),
    ],
    ids=["ubuntu", "a mirror list", "no main", "nothing"],
)
def test_without_a_debian_mirror_debootstraps_default_is_left_to_it(etc, release, sources):
    assert host_mirror(etc(release, sources=sources)) is None
