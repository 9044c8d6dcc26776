namespace HibpIngest.Errors;

/// <summary>Another ingester owns the load by now: nothing of the batch in hand was written; stop, it carries on.</summary>
public sealed class LoadLostException(long load) : HibpException($"load {load} is owned by another ingester by now");
