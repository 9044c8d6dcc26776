using MailKit;

namespace HibpIngest.Delivery;

/// <summary>Tracks each command's reply. The text of a reply may contain addresses: only codes leave this class.</summary>
internal sealed class SmtpConversation(SmtpServer server, TimeProvider time) : IProtocolLogger, ITransferProgress
{
    // RFC 5321 allows 512 bytes a line, and real servers send few lines.
    private const int MaxReplyLine = 4096;
    private const int MaxReplyLines = 100;

    private readonly Lock _lock = new();
    private readonly Queue<SmtpStep> _awaited = new();
    private readonly StringBuilder _line = new();
    private CancellationTokenSource? _operation;
    private int _lines;
    private int _code;
    private bool _isCancelled;
    private bool _isEnding;

    public SmtpStep Step { get; private set; } = SmtpStep.Connection;
    public TimeSpan Limit { get; private set; }

    /// <summary>The operation's first negative or unexpected reply; null if there was none.</summary>
    public SmtpRefusal? Refusal { get; private set; }
    public long LastUse { get; private set; } = time.GetTimestamp();
    public IAuthenticationSecretDetector? AuthenticationSecretDetector { get; set; }

    /// <summary>Begins an operation; a step that times out cancels <paramref name="operation"/>.</summary>
    public void Begin(CancellationTokenSource operation, SmtpStep step)
    {
        lock (_lock)
        {
            (_operation, _isCancelled, _isEnding, _code, Refusal) = (operation, false, false, 0, null);
            _awaited.Clear();
            Await(step);
        }
    }

    /// <summary>
    /// Cancels the operation. Once the end of the message has been sent, the server may have accepted the mail, and without its reply a
    /// second copy would be sent later: then this only shortens the wait for the reply.
    /// </summary>
    public void Cancel()
    {
        CancellationTokenSource operation;
        lock (_lock)
        {
            _isCancelled = true;
            operation = _operation!;
            if (_isEnding)
            {
                operation.CancelAfter(server.CancelledMessageTimeout);
                return;
            }
        }
        operation.Cancel();
    }

    public void Await(SmtpStep step)
    {
        lock (_lock)
        {
            Step = step;
            Limit = step == SmtpStep.Message ? server.MessageTimeout : server.CommandTimeout;
            if (!_isCancelled)
                _operation!.CancelAfter(Limit);
        }
    }

    public void LogConnect(Uri uri) => Await(SmtpStep.Greeting);

    public void LogClient(byte[] buffer, int offset, int count)
    {
        // After 354 the client sends the message, and after 334 a part of the login.
        if (_code == 354)
            return;
        if (_code == 334)
        {
            Sent(SmtpStep.Login);
            return;
        }
        foreach (var line in Encoding.ASCII.GetString(buffer, offset, count).Split("\r\n", StringSplitOptions.RemoveEmptyEntries))
            Sent(SmtpStep.Of(line));
    }

    public void LogServer(byte[] buffer, int offset, int count)
    {
        for (var i = offset; i < offset + count; i++)
        {
            if (buffer[i] != '\n')
            {
                if (_line.Length == MaxReplyLine)
                    throw NotSmtp();
                // The reply is checked before MailKit parses it: MailKit reports any malformed reply as a protocol error.
                if (_line.Append((char)buffer[i]).Length == 4)
                    _ = CodeOf(_line.ToString());
                continue;
            }
            var line = _line.ToString().TrimEnd('\r');
            _line.Clear();
            if (!EndLine(line))
                continue;
            // Bytes received before the handshake are not encrypted: an attacker may have injected them.
            if (Step == SmtpStep.Handshake && i + 1 < offset + count)
                throw new StoreRefusedException($"mail server {server} continued unencrypted after STARTTLS; someone may be "
                    + "interfering with the connection");
        }
    }

    /// <summary>Called with the bytes of the message written so far; its end follows the last call.</summary>
    public void Report(long bytesTransferred, long totalSize)
    {
        // The doubled periods of SMTP count too, so this may be true some bytes before the end.
        if (bytesTransferred < totalSize)
            return;
        lock (_lock)
        {
            if (_isCancelled)
                return;
            _isEnding = true;
            Await(SmtpStep.Message);
        }
    }

    public void Report(long bytesTransferred)
    {
    }

    public void Dispose()
    {
    }

    private void Sent(SmtpStep step)
    {
        _awaited.Enqueue(step);
        if (_awaited.Count == 1)
            Await(step);
    }

    /// <returns>True for a reply's last line.</returns>
    private bool EndLine(string line)
    {
        _code = CodeOf(line);
        if (++_lines > MaxReplyLines)
            throw NotSmtp();
        if (line.Length > 3 && line[3] == '-')
            return false;
        _lines = 0;
        EndReply(line);
        return true;
    }

    /// <param name="line">A line, or its first four characters.</param>
    private int CodeOf(string line)
    {
        var isCode = line.Length >= 3 && line[0] is >= '2' and <= '5' && char.IsAsciiDigit(line[1]) && char.IsAsciiDigit(line[2])
            && (line.Length == 3 || line[3] is ' ' or '-' or '\r');
        var code = isCode ? int.Parse(line.AsSpan(0, 3), CultureInfo.InvariantCulture) : 0;
        return isCode && (_lines == 0 || code == _code) ? code : throw NotSmtp();
    }

    private void EndReply(string line)
    {
        LastUse = time.GetTimestamp();
        var step = Step;
        var codes = SmtpRefusal.CodesOf(line);
        // Any command may get 421: the server is closing the connection.
        if (_code == 421)
            throw new UnavailableException($"mail server {server} closed the connection at {step.Name}: {codes}");
        // MailKit sends RSET by itself after a refusal.
        if (_code >= 300 && _code != step.Intermediate && step != SmtpStep.Reset)
            Refusal ??= new SmtpRefusal(step, _code, codes);
        // MailKit would fall back to HELO, without the extensions that EHLO offers.
        if (step == SmtpStep.Ehlo && Refusal is not null)
            throw Refusal.ToException(server);
        _awaited.TryDequeue(out _);
        if (_awaited.TryPeek(out var next))
            Await(next);
        else if (step == SmtpStep.StartTls && Refusal is null)
            Await(SmtpStep.Handshake);
        else if (_code == 354)
            Await(SmtpStep.Message);
        else
            StopWaiting();
    }

    /// <summary>Suspends the timeout until the next command is known: MailKit logs a command only after it has written it.</summary>
    private void StopWaiting()
    {
        lock (_lock)
        {
            if (!_isCancelled)
                _operation!.CancelAfter(Timeout.InfiniteTimeSpan);
        }
    }

    private UnavailableException NotSmtp() =>
        new($"mail server {server} responded to {Step.Name} with data that is not SMTP; check host, port and tls in HIBP_MAIL");
}
