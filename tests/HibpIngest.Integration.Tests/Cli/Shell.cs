namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Runs system programs for what .NET can't read or set: owners of files.</summary>
internal static class Shell
{
    /// <summary>Returns the user and group to give to a file. Only root can change them; other users keep theirs.</summary>
    public static async Task<string> OwnerAsync(string path) =>
        Environment.IsPrivilegedProcess ? "12345:12346" : await RunAsync("stat", "-c", "%u:%g", path);

    /// <summary>Returns the output of a program that must succeed.</summary>
    public static async Task<string> RunAsync(string program, params string[] arguments) =>
        (await ExternalProgram.RunAsync(program, arguments)).Output.Trim();
}
