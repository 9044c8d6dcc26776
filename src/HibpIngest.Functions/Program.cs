using HibpIngest.Api;
using Microsoft.Azure.Functions.Worker.Builder;

namespace HibpIngest.Functions;

internal static class Program
{
    private static async Task Main(string[] args)
    {
        var builder = FunctionsApplication.CreateBuilder(args);
        var app = new FunctionsApp(
            builder, FunctionsAppSettings.ReadPipeline, AddPipeline, services => services.OpenStores());
        builder.UseMiddleware<InvocationGuard>();
        builder.Services.AddHostedService(provider => provider.GetRequiredService<InvocationGuard>());
        builder.Services.Configure<WorkerOptions>(
            worker => worker.InputConverters.RegisterAt<InvocationGuard.TokenConverter>(0));
        builder.Services.AddSingleton(provider => new CachedCheck(
            cancellationToken => CheckStoreAsync(provider, cancellationToken), TimeProvider.System));
        await app.RunAsync(builder.Build());
    }

    private static void AddPipeline(IServiceCollection services, PipelineSettings settings) => services
        .AddHibp(settings, setsUpStores: true)
        .AddHeartbeats(Heartbeat.Everything);

    /// <summary>Queries only the storage account: probing the database would keep a serverless one awake.</summary>
    private static async Task CheckStoreAsync(IServiceProvider services, CancellationToken cancellationToken)
    {
        try
        {
            _ = await services.GetRequiredService<IStoreRegister>().GetIdentityAsync(cancellationToken);
        }
        catch (Errors.StoreMissingException)
        {
            // The first sweep sets the stores up.
        }
    }
}
