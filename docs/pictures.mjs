#!/usr/bin/env node
// Runs hibp on a terminal and draws the screens that it leaves as docs/demo.svg, status.svg and mail.svg: node docs/pictures.mjs
// Needs Linux (script, of util-linux, gives hibp its terminal), the .NET SDK 10, Node 20 or newer, and Chromium (CHROMIUM names its
// program), in which each picture is opened and measured. Nothing but a folder of its own is touched; PORT is the first of three for
// the emulator (10300 unless set).
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const docs = dirname(fileURLToPath(import.meta.url));
const root = dirname(docs);
const columns = 100;
// Of a character, of a line, and around all of them.
const width = 8.4, height = 18, margin = 16;
const home = mkdtempSync(join(tmpdir(), "hibp-pictures-"));
const environment = {
  ...process.env, TERM: "xterm-256color", DOTNET_CLI_TELEMETRY_OPTOUT: "1", DOTNET_NOLOGO: "1",
  HIBP_HOME: home, HIBP_EMULATOR_PORT: process.env.PORT ?? "10300",
};
const program = ["run", "--project", "src/HibpIngest.Cli", "-c", "Release", "--no-build", "--"];

// What is to be built and installed is built and installed before, so that the pictures show the commands alone.
execFileSync("dotnet", ["build", "src/HibpIngest.Cli", "-c", "Release", "-v", "q"], { cwd: root, stdio: "inherit" });
hibp("demo", "--json");
picture("demo", "demo");

const host = spawn("dotnet", [...program, "run"], { cwd: root, env: environment, stdio: ["ignore", "ignore", "pipe"], detached: true });
try {
  await new Promise((resolve, reject) => {
    let said = "";
    host.stderr.on("data", data => /^ready/m.test(said += data) && resolve());
    host.on("exit", () => reject(new Error(said)));
  });
  hibp("subscribers", "import", "samples/subscribers.csv");
  hibp("drop", "samples/Contoso.zip", "--wait");
  hibp("sample", "--accounts", "30000", join(home, "Fabrikam.zip"));
  hibp("drop", join(home, "Fabrikam.zip"));
  // Until there is something to be seen of it.
  while (!JSON.parse(hibp("status", "--json")).loads.some(load => load.breach === "Fabrikam" && load.slices.done > 0));
  picture("status", "status");
  picture("mail", "mail preview Contoso");
} finally {
  process.kill(-host.pid, "SIGINT");
  await new Promise(resolve => host.exitCode === null ? host.on("exit", resolve) : resolve());
  rmSync(home, { recursive: true, force: true });
}

function hibp(...args) {
  return execFileSync("dotnet", [...program, ...args], { cwd: root, env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

/** Runs a command on a terminal and draws what it leaves there. */
function picture(name, args) {
  const output = execFileSync("script", ["-qec", `stty cols ${columns} rows 50; dotnet ${program.join(" ")} ${args}`, "/dev/null"], {
    cwd: root, encoding: "utf8", env: environment, maxBuffer: 64 << 20, stdio: ["ignore", "pipe", "inherit"],
  });
  // The folder of this run is nobody's: what is shown is what most have.
  const screen = draw(output.replaceAll(home, ".hibp"));
  while (screen.length > 0 && isBlank(screen[0])) screen.shift();
  while (screen.length > 0 && isBlank(screen.at(-1))) screen.pop();
  const typed = [...`$ hibp ${args}`].map(character => ({ character, style: { bold: true } }));
  const file = join(docs, `${name}.svg`);
  const lines = [typed, ...screen];
  const drawn = svg(lines, `hibp ${args} on a terminal`);
  measure(name, drawn, lines);
  writeFileSync(file, drawn);
  console.log(`${file}: ${lines.length} lines`);
}

/**
 * Has Chromium lay a picture out, reads each line back by where its characters are, and throws unless that is the line. (The last
 * character alone says little: textLength puts it in its place whatever becomes of the spaces before it.)
 */
function measure(name, drawn, lines) {
  const page = join(home, `${name}.html`);
  writeFileSync(page, `<!DOCTYPE html><meta charset="utf-8">${drawn}<pre id="measured"></pre><script>
    const shown = [];
    for (const text of document.querySelectorAll("text")) {
      for (let at = 0; at < text.getNumberOfChars(); at++)
        shown.push([Number(text.getAttribute("y")), text.getStartPositionOfChar(at).x, text.textContent.charCodeAt(at)]);
    }
    document.getElementById("measured").textContent = JSON.stringify(shown);
  </script>`);
  const dom = execFileSync(
    process.env.CHROMIUM ?? "chromium", ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${join(home, "chromium")}`, "--dump-dom", `file://${page}`],
    { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const shown = lines.map(() => []);
  for (const [y, x, code] of JSON.parse(/<pre id="measured">(.*?)<\/pre>/s.exec(dom)[1]))
    shown[(y - baseline(0)) / height][Math.round((x - margin) / width)] = String.fromCharCode(code);
  for (const [index, cells] of lines.entries()) {
    const expected = cells.map(cell => cell.character).join("").trimEnd();
    const found = Array.from(shown[index], character => character ?? " ").join("");
    if (found !== expected)
      throw new Error(`${name}, line ${index + 1}: Chromium shows\n${found}\ninstead of\n${expected}`);
  }
}

/** The lines that a terminal shows when all was written: of its control sequences, those that hibp uses. */
function draw(text) {
  const lines = [];
  let row = 0, column = 0, style = {};
  const line = () => (lines[row] ??= []);
  for (let at = 0; at < text.length;) {
    const sequence = /^\x1b(?:\[([?\d;]*)([A-Za-z])|[=>]|\][^\x07]*\x07)/.exec(text.slice(at, at + 200));
    if (sequence) {
      at += sequence[0].length;
      const count = Number(sequence[1]) || 1;
      switch (sequence[2]) {
        case "A": row = Math.max(0, row - count); break;
        case "B": row += count; break;
        case "C": column += count; break;
        case "D": column = Math.max(0, column - count); break;
        case "E": row += count; column = 0; break;
        case "F": row = Math.max(0, row - count); column = 0; break;
        case "G": column = count - 1; break;
        case "J": line().length = Math.min(line().length, column); lines.length = Math.min(lines.length, row + 1); break;
        case "K":
          if (sequence[1] === "2") lines[row] = [];
          else line().length = Math.min(line().length, column);
          break;
        case "m": style = restyle(style, sequence[1].split(";").map(Number)); break;
        case "h": case "l": case undefined: break;
        default: throw new Error(`hibp wrote a control sequence that this script does not know: ${JSON.stringify(sequence[0])}`);
      }
      continue;
    }
    const character = String.fromCodePoint(text.codePointAt(at));
    at += character.length;
    if (character === "\r") column = 0;
    else if (character === "\n") row++;
    else if (character >= " ") {
      while (line().length < column) line().push({ character: " ", style: {} });
      if (column >= columns) { row++; column = 0; }
      line()[column++] = { character, style };
    }
  }
  return Array.from(lines, cells => cells ?? []);
}

function restyle(style, codes) {
  const next = { ...style };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at];
    if (code === 0) return {};
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 39) delete next.color;
    else if (code >= 30 && code <= 37) next.color = code - 30;
    else if (code >= 90 && code <= 97) next.color = code - 82;
    else if (code === 38 && codes[at + 1] === 5) next.color = codes[at += 2];
  }
  return next;
}

/** Where a line's characters stand. */
function baseline(index) {
  return margin + 13 + index * height;
}

function isBlank(cells) {
  return cells.every(cell => cell.character === " ");
}

function svg(lines, label) {
  const palette = {
    0: "#484f58", 1: "#ff7b72", 2: "#3fb950", 3: "#d29922", 4: "#58a6ff", 5: "#bc8cff", 6: "#39c5cf", 7: "#b1bac4",
    8: "#6e7681", 9: "#ffa198", 10: "#56d364", 11: "#e3b341", 12: "#79c0ff", 13: "#d2a8ff", 14: "#56d4dd", 15: "#ffffff",
  };
  const escape = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const rows = lines.map((cells, index) => {
    const runs = [];
    for (const [column, cell] of cells.entries()) {
      const key = JSON.stringify(cell.style);
      if (runs.at(-1)?.key === key) runs.at(-1).text += cell.character;
      else runs.push({ key, column, style: cell.style, text: cell.character });
    }
    // Words at their columns, as wide as their characters: whatever font there is, columns stay columns. No text holds two spaces, which
    // a browser makes one of, nor begins or ends with one.
    return runs.flatMap(run => [...run.text.matchAll(/[^ ]+(?: [^ ]+)*/g)].map(words => (
      { ...run, text: words[0], column: run.column + words.index }))).map(run => {
      const text = run.text;
      const attributes = [
        `x="${(margin + run.column * width).toFixed(1)}"`, `y="${baseline(index)}"`, `textLength="${(text.length * width).toFixed(1)}"`,
        run.style.bold ? `font-weight="bold"` : "", run.style.dim ? `opacity="0.6"` : "",
        run.style.color === undefined ? "" : `fill="${palette[run.style.color] ?? "#e6edf3"}"`,
      ].filter(Boolean).join(" ");
      return `  <text ${attributes}>${escape(text)}</text>\n`;
    }).join("");
  }).join("");
  const size = [Math.ceil(2 * margin + columns * width), 2 * margin + lines.length * height];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size[0]} ${size[1]}" role="img" aria-label="${label}">
 <rect width="100%" height="100%" rx="8" fill="#0d1117"/>
 <g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e6edf3">
${rows} </g>
</svg>
`;
}
