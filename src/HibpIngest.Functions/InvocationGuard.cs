using System.Collections.Concurrent;
using Microsoft.Azure.Functions.Worker.Converters;
using Microsoft.Azure.Functions.Worker.Middleware;

namespace HibpIngest.Functions;

/// <summary>
/// Wraps every invocation. If settings are wrong, the invocation fails before a store is called. The host logs message and stack of an
/// exception several times, so it gets an <see cref="InvocationFailedException"/> instead. When the process is asked to stop, invocations
/// are cancelled, and stores stay open until they have ended at a batch boundary.
/// </summary>
internal sealed partial class InvocationGuard(
    SettingsErrors settings, IHostApplicationLifetime lifetime, ILogger<InvocationGuard> log) : IFunctionsWorkerMiddleware, IHostedService
{
    private readonly ConcurrentDictionary<string, Task> _running = new();

    public async Task Invoke(FunctionContext context, FunctionExecutionDelegate next)
    {
        var function = context.FunctionDefinition.Name;
        var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _running[context.InvocationId] = ended.Task;
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(context.CancellationToken, lifetime.ApplicationStopping);
        context.Items[typeof(CancellationToken)] = stop.Token;
        try
        {
            if (function != HealthFunction.Name)
                settings.ThrowIfAny();
            // A timer can fire after the process was asked to stop.
            stop.Token.ThrowIfCancellationRequested();
            await next(context);
        }
        catch (Exception e)
        {
            var reason = e switch
            {
                HibpException => e.Message.ReplaceLineEndings(" "),
                OperationCanceledException => "stopped before its work was done; the next attempt resumes it",
                _ => UnexpectedError.Reason(e),
            };
            LogFailed(function, e is HibpException or OperationCanceledException ? reason : UnexpectedError.Describe(e));
            throw new InvocationFailedException($"{function} failed: {reason}");
        }
        finally
        {
            _running.TryRemove(context.InvocationId, out _);
            ended.SetResult();
        }
    }

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.WhenAll(_running.Values).WaitAsync(cancellationToken);

    [LoggerMessage(EventIds.InvocationFailed, LogLevel.Error, "{Function} failed: {Reason}")]
    private partial void LogFailed(string function, string reason);

    /// <summary>Binds a function's token to one that is also cancelled when the process stops.</summary>
    internal sealed class TokenConverter : IInputConverter
    {
        public ValueTask<ConversionResult> ConvertAsync(ConverterContext context) => ValueTask.FromResult(
            context.TargetType == typeof(CancellationToken)
            ? ConversionResult.Success(context.FunctionContext.Items[typeof(CancellationToken)]) : ConversionResult.Unhandled());
    }
}

/// <summary>Fails an invocation, so that the host retries it. Contains no invocation data and no stack.</summary>
internal sealed class InvocationFailedException(string message) : Exception(message)
{
    public override string? StackTrace => null;
}
