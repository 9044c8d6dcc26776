using HibpIngest.Deployment.Tests.Infra;

namespace HibpIngest.Deployment.Tests.Functions;

/// <summary>The output of <c>dotnet publish</c> for a Functions app, made once for the whole test run.</summary>
internal sealed class PublishedApp
{
    private static readonly Lazy<Task<PublishedApp>> SharedPipeline = new(() => PublishAsync("HibpIngest.Functions"));
    private static readonly Lazy<Task<PublishedApp>> SharedApi = new(() => PublishAsync("HibpIngest.Functions.Api"));

    private PublishedApp(string folder, string package) => (Folder, Package) = (folder, package);

    /// <summary>Deleted when the process ends.</summary>
    public string Folder { get; }

    /// <summary>The zip to upload.</summary>
    public string Package { get; }

    public static Task<PublishedApp> PipelineAsync() => SharedPipeline.Value;

    public static async Task<PublishedApp> ApiAsync()
    {
        // One after the other, because they build the same projects.
        await SharedPipeline.Value;
        return await SharedApi.Value;
    }

    private static async Task<PublishedApp> PublishAsync(string project)
    {
        var folder = Directory.CreateTempSubdirectory("hibp-test-app-").FullName;
        AppDomain.CurrentDomain.ProcessExit += (_, _) => Directory.Delete(folder, recursive: true);
        var app = new PublishedApp(Path.Combine(folder, "app"), Path.Combine(folder, "app.zip"));
        // As docs/deploying.md says, but without compiling some 70 assemblies ahead of time, which takes most of a publish and changes no
        // file's name.
        string[] arguments = ["publish", $"src/{project}", "-c", "Release", "-o", app.Folder, $"-p:PackageFile={app.Package}"];
        (await InfraFiles.RunAsync("dotnet", [.. arguments, "-p:PublishReadyToRun=false"])).Succeeded();
        return app;
    }
}
