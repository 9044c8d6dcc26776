using HibpIngest.Passwords.Serving;
using Microsoft.Extensions.Hosting;

namespace HibpIngest.Api;

internal sealed partial class ApiRefresh(
    CatalogueReader catalogue, LayoutReads layout, IPasswordRanges passwords, ILogger<ApiRefresh> log) : BackgroundService
{
    protected override Task ExecuteAsync(CancellationToken stoppingToken) => Task.WhenAll(
        RefreshAsync("catalogue", catalogue.RunAsync, stoppingToken), RefreshAsync("layout", layout.RunAsync, stoppingToken),
        RefreshAsync("passwords", passwords.RunAsync, stoppingToken));

    private async Task RefreshAsync(string state, Func<CancellationToken, Task> run, CancellationToken stoppingToken)
    {
        try
        {
            await Task.Run(() => run(stoppingToken), stoppingToken);
        }
        catch (Exception e) when (!stoppingToken.IsCancellationRequested)
        {
            LogEnded(state, UnexpectedError.Describe(e));
        }
    }

    [LoggerMessage(EventIds.ApiRefreshEnded, LogLevel.Critical,
        "{What}: refresh ended, serving the last state ({Reason}); restart the process to resume")]
    private partial void LogEnded(string what, string reason);
}
