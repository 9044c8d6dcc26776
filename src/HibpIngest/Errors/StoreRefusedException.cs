namespace HibpIngest.Errors;

/// <summary>A store answered and refused: wrong key, no permission, container or table missing. The set-up must be mended.</summary>
public class StoreRefusedException(string message, Exception? inner = null) : HibpException(message, inner)
{
    /// <summary>What was asked of is not there: nobody has made it yet. The store itself answered, and let the caller in.</summary>
    public bool NotMade { get; init; }
}
