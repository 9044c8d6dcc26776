namespace HibpIngest.Errors;

/// <summary>A store answered and refused: wrong key, no permission, container or table missing. The set-up must be mended.</summary>
public class StoreRefusedException(string message, Exception? inner = null) : HibpException(message, inner);
