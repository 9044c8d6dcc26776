using System.ComponentModel;
using System.Diagnostics;

namespace HibpIngest.Cli.Emulator;

/// <summary>Installs the Node programs of a folder's package.json and lock file. Needs Node 20 or later on the path.</summary>
internal static class NodePackages
{
    // Enough for a cold npm cache over a slow connection.
    private static readonly TimeSpan InstallTimeout = TimeSpan.FromMinutes(10);

    /// <summary>Runs <c>npm ci</c> unless it has already completed for this lock file; one process at a time.</summary>
    /// <param name="proof">A file that exists if the program is installed.</param>
    public static async Task InstallAsync(
        string folder, string what, string proof, IProgress<string>? progress, CancellationToken cancellationToken)
    {
        bool IsInstalled() => File.Exists(proof) && MatchesLockFile(folder);

        if (IsInstalled())
            return;
        using var installing = await LockAsync(Path.Combine(folder, ".install.lock"), cancellationToken);
        if (IsInstalled())
            return;

        progress?.Report($"installing {what} (npm ci in {Path.GetRelativePath(Environment.CurrentDirectory, folder)}; once)");
        using var npm = new Process
        {
            StartInfo = Command(
                OperatingSystem.IsWindows() ? "npm.cmd" : "npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder),
        };
        var errors = new StringBuilder();
        npm.OutputDataReceived += (_, _) => { };
        npm.ErrorDataReceived += (_, e) =>
        {
            if (e.Data is { } line && line.Contains("error", StringComparison.OrdinalIgnoreCase) && errors.Length < 500)
                errors.Append(' ').Append(line.Trim());
        };
        Start(npm, what);
        npm.StandardInput.Close();
        npm.BeginOutputReadLine();
        npm.BeginErrorReadLine();
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(InstallTimeout);
        try
        {
            await npm.WaitForExitAsync(timeout.Token);
        }
        catch (OperationCanceledException)
        {
            npm.Kill(entireProcessTree: true);
            cancellationToken.ThrowIfCancellationRequested();
            throw new NotPossibleException(
                $"installing {what} took longer than {InstallTimeout.TotalMinutes:0} minutes: run npm ci in {folder}");
        }

        if (npm.ExitCode != 0 || !IsInstalled())
        {
            throw new NotPossibleException($"{what} could not be installed (npm ci in {folder} ended with {npm.ExitCode}); fix the cause, "
                + $"and run the same command again:{errors}");
        }
    }

    public static ProcessStartInfo Command(string program, IEnumerable<string> arguments, string folder) => new(program, arguments)
    {
        RedirectStandardInput = true,
        RedirectStandardOutput = true,
        RedirectStandardError = true,
        UseShellExecute = false,
        WorkingDirectory = folder,
    };

    /// <exception cref="NotPossibleException">The process can't be started: Node is missing.</exception>
    public static void Start(Process process, string what, string? instead = null)
    {
        try
        {
            process.Start();
        }
        catch (Win32Exception e)
        {
            throw new NotPossibleException($"{what} needs Node 20 or later, and {process.StartInfo.FileName} could not be started "
                + $"({e.Message}): install Node{(instead is null ? "" : $", or {instead}")}");
        }
    }

    // npm writes its list last, so a partial installation is not mistaken for a complete one. Packages for other systems aren't listed.
    internal static bool MatchesLockFile(string folder)
    {
        var list = Path.Combine(folder, "node_modules", ".package-lock.json");
        if (!File.Exists(list))
            return false;
        using var installed = JsonDocument.Parse(File.ReadAllBytes(list));
        using var locked = JsonDocument.Parse(File.ReadAllBytes(Path.Combine(folder, "package-lock.json")));
        var here = installed.RootElement.GetProperty("packages");
        return locked.RootElement.GetProperty("packages").EnumerateObject().All(package =>
            package.Name.Length == 0
            || (here.TryGetProperty(package.Name, out var found)
                ? Version(found) == Version(package.Value)
                : package.Value.TryGetProperty("optional", out var optional) && optional.GetBoolean()));

        static string? Version(JsonElement package) => package.TryGetProperty("version", out var version) ? version.GetString() : null;
    }

    /// <summary>The operating system releases the lock when a process dies.</summary>
    private static async Task<FileStream> LockAsync(string path, CancellationToken cancellationToken)
    {
        using var tick = new PeriodicTimer(TimeSpan.FromMilliseconds(200));
        while (true)
        {
            try
            {
                return new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
            }
            catch (IOException e) when (e is not (DirectoryNotFoundException or FileNotFoundException or PathTooLongException))
            {
                await tick.WaitForNextTickAsync(cancellationToken);
            }
        }
    }
}
