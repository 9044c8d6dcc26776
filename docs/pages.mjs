#!/usr/bin/env node
// Draws the pages as a person and as an operator sees them, light and dark, as docs/pages/NAME-light.png and NAME-dark.png:
//   node docs/pages.mjs [FOLDER]
// Needs the .NET SDK 10, Node 20 or newer, and Chromium (CHROMIUM names its program). The browser is driven by the copy of Playwright
// that the tests restore. Nothing but a folder of its own and docs/pages (or FOLDER) is touched; PORT is the first of three for the
// emulator (10400 unless set), and the pages and the status page take the next two.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = process.argv[2] ?? join(root, "docs/pages");
const home = mkdtempSync(join(tmpdir(), "hibp-pages-"));
const port = Number(process.env.PORT ?? "10400");
const [site, operator] = [`http://127.0.0.1:${port + 3}`, `http://127.0.0.1:${port + 4}`];
const environment = {
  ...process.env, DOTNET_CLI_TELEMETRY_OPTOUT: "1", DOTNET_NOLOGO: "1", HIBP_HOME: home, HIBP_EMULATOR_PORT: `${port}`,
  HIBP_RANGES: "on", HIBP_WEB_URL: site, HIBP_SERVICE_NAME: "Contoso Breach Watch",
};
const person = "ann@example.com";
const breaches = [
  ["Fabrikam", "2019-05-24", true, ["Email addresses", "Names", "Passwords"],
    "In May 2019, attackers copied the customer database of the online shop Fabrikam. Passwords were stored as unsalted SHA-1 hashes."],
  ["Northwind", "2021-11-03", true, ["Email addresses", "Phone numbers", "Physical addresses"],
    "The delivery addresses of the food trader Northwind were readable for anybody for two weeks."],
  ["Tailspin Toys", "2013-10-04", false, ["Email addresses", "Usernames"],
    "A list of users of the forum of Tailspin Toys was offered for sale in 2013. Nobody has confirmed where it comes from."],
];

for (const project of ["src/HibpIngest.Cli", "tests/HibpIngest.Integration.Tests"])
  execFileSync("dotnet", ["build", project, "-c", "Release", "-v", "q", "-clp:ErrorsOnly"], { cwd: root, stdio: "inherit" });
const { chromium } = await import(pathToFileURL(
  join(root, "tests/HibpIngest.Integration.Tests/bin/Release/net10.0/.playwright/package/index.mjs")));

mkdirSync(folder, { recursive: true });
const hosts = [];
try {
  await start("run", "--listen", operator);
  await start("serve", "--urls", site);
  for (const [title, date, verified, classes, description] of breaches) {
    const file = join(home, `${title.replaceAll(" ", "")}.csv`);
    writeFileSync(file, `email\n${person}\n`);
    writeFileSync(file.replace(".csv", ".json"), JSON.stringify({
      Title: title, BreachDate: date, IsVerified: verified, DataClasses: classes, Description: description,
      Domain: `${title.split(" ")[0].toLowerCase()}.example`,
    }));
    hibp("drop", file, "--wait");
  }
  hibp("sample", "--accounts", "60000", join(home, "Adventure.zip"));
  hibp("drop", join(home, "Adventure.zip"));

  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"],
  });
  for (const scheme of ["light", "dark"]) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 1100, height: 720 } });
    const page = await context.newPage();
    const take = name => page.screenshot({ path: join(folder, `${name}-${scheme}.png`) });
    await search(page, person);
    await take("search-hit");
    await search(page, "nobody@example.com");
    await take("search-miss");
    for (const [name, path] of [["breaches", "/breaches"], ["breach", "/breach/Fabrikam"], ["subscribe", "/subscribe"], ["optout", "/optout"]]) {
      await page.goto(site + path);
      await take(name);
    }
    // Its figures come as events.
    await page.goto(`${operator}/status`);
    await page.waitForSelector("table");
    await take("status");
    await context.close();
    const phone = await browser.newContext({ colorScheme: scheme, viewport: { width: 360, height: 720 } });
    const small = await phone.newPage();
    await search(small, person);
    await small.screenshot({ path: join(folder, `phone-${scheme}.png`) });
    await phone.close();
  }
  await browser.close();
} finally {
  for (const host of hosts.reverse()) {
    process.kill(-host.pid, "SIGINT");
    await new Promise(resolve => host.exitCode === null ? host.on("exit", resolve) : resolve());
  }
  rmSync(home, { recursive: true, force: true });
}

async function search(page, address) {
  await page.goto(`${site}/`);
  await page.fill("#email", address);
  await page.click("form[data-search=range] button");
  await page.waitForSelector(".result .panel.good, .result .panel.bad");
}

function hibp(...args) {
  return execFileSync("dotnet", ["run", "--project", "src/HibpIngest.Cli", "-c", "Release", "--no-build", "--", ...args], {
    cwd: root, env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Starts a host; resolves when it is ready. */
function start(...args) {
  const host = spawn("dotnet", ["src/HibpIngest.Cli/bin/Release/net10.0/hibp.dll", ...args], {
    cwd: root, env: environment, stdio: ["ignore", "ignore", "pipe"], detached: true,
  });
  hosts.push(host);
  return new Promise((resolve, reject) => {
    let said = "";
    host.stderr.on("data", data => /^ready/m.test(said += data) && resolve());
    host.on("exit", () => reject(new Error(said)));
  });
}
