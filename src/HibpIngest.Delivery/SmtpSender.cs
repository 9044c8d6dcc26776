using System.Collections.Concurrent;

namespace HibpIngest.Delivery;

/// <summary>
/// Sends mails to a mail server over pooled connections. Safe for concurrent use: up to <see cref="SmtpServer.MaxConnections"/> mails are
/// sent at the same time, others wait. A connection lost after the message and before its reply is a
/// <see cref="UnavailableException"/>: a retry may deliver a second copy, with the same Message-ID.
/// </summary>
public sealed class SmtpSender : INotificationSender
{
    private readonly SmtpServer _server;
    private readonly TimeProvider _time;
    private readonly SemaphoreSlim _turns;
    private readonly ConcurrentStack<SmtpSession> _idle = new();

    public SmtpSender(SmtpServer server, TimeProvider time)
    {
        _server = server;
        _time = time;
        _turns = new SemaphoreSlim(server.MaxConnections);
    }

    public string DisplayName
    {
        get
        {
            var tls = _server.Tls switch { SmtpTls.Implicit => "TLS", SmtpTls.StartTls => "STARTTLS", _ => "not encrypted" };
            return $"mail server {_server}, {tls}{(_server.User is null ? "" : ", with login")}";
        }
    }

    public async Task CheckAsync(string from, CancellationToken cancellationToken)
    {
        await _turns.WaitAsync(cancellationToken);
        try
        {
            using var connection = await SmtpSession.OpenAsync(_server, _time, cancellationToken);
            await connection.CheckSenderAsync(from, cancellationToken);
            await connection.QuitAsync();
        }
        finally
        {
            _turns.Release();
        }
    }

    public async Task SendAsync(OutgoingMail mail, CancellationToken cancellationToken)
    {
        if (!MailSyntax.IsAddress(mail.To))
            throw new BadInputException($"the recipient of mail {mail.Name} is not an address that SMTP can carry");
        if (!MailSyntax.IsAddress(mail.From))
            throw new StoreRefusedException("the sender is not an email address; check HIBP_MAIL_FROM");
        using var limit = new CancellationTokenSource(_server.MailTimeout, _time);
        using var both = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, limit.Token);
        try
        {
            await SendInTurnAsync(mail, both.Token);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            throw new OperationCanceledException(cancellationToken);
        }
        catch (OperationCanceledException)
        {
            throw new UnavailableException(
                $"mail server {_server} did not accept a mail within {_server.MailTimeout.TotalSeconds:0.###} s in all");
        }
    }

    private async Task SendInTurnAsync(OutgoingMail mail, CancellationToken cancellationToken)
    {
        await _turns.WaitAsync(cancellationToken);
        try
        {
            var connection = await ClaimAsync(cancellationToken);
            var isUsable = false;
            try
            {
                await connection.SendAsync(mail, cancellationToken);
                isUsable = true;
            }
            catch (Exception e) when (e is BadInputException or RecipientDeferredException)
            {
                isUsable = connection.IsConnected;
                throw;
            }
            finally
            {
                if (!isUsable)
                    connection.Dispose();
                else if (connection.MailsAttempted >= _server.MaxMailsPerConnection)
                    await connection.QuitAsync();
                else
                    _idle.Push(connection);
            }
        }
        finally
        {
            _turns.Release();
        }
    }

    /// <summary>Closes the idle connections; call it when nothing is being sent any more.</summary>
    public async ValueTask DisposeAsync()
    {
        while (_idle.TryPop(out var connection))
            await connection.QuitAsync();
        _turns.Dispose();
    }

    private async Task<SmtpSession> ClaimAsync(CancellationToken cancellationToken)
    {
        while (_idle.TryPop(out var connection))
        {
            var isAlive = false;
            try
            {
                isAlive = _time.GetElapsedTime(connection.LastUse) < _server.IdleTimeout && await connection.ResetAsync(cancellationToken);
            }
            finally
            {
                if (!isAlive)
                    connection.Dispose();
            }
            if (isAlive)
                return connection;
        }
        return await SmtpSession.OpenAsync(_server, _time, cancellationToken);
    }
}
