using System.Numerics;

namespace HibpIngest.Pipeline.Callbacks;

/// <summary>The calls of several deliveries to one client, and each delivery's progress. Thread-safe.</summary>
/// <param name="first">Returns the index of the call to start with, given a delivery's number of calls. Random by default, so that calls
/// that always fail don't use up each turn of a slow client.</param>
internal sealed class CallPool(
    IReadOnlyList<(CallbackDelivery Delivery, CallList Calls)> deliveries, Func<int, int>? first = null)
{
    private readonly Lock _lock = new();
    private readonly State[] _states =
        [.. deliveries.Select(one => new State(one.Delivery, one.Calls, (first ?? Random.Shared.Next)(one.Calls.Count)))];
    private readonly Queue<(int Delivery, int Call)> _throttled = [];
    private int _delivery;
    private int _call;

    public IReadOnlyList<CallbackKey> Keys { get; } = [.. deliveries.Select(one => one.Delivery.Key)];

    /// <summary>Throttled calls are repeated after all others.</summary>
    public bool TryTake(out (int Delivery, int Call) next)
    {
        lock (_lock)
        {
            for (; _delivery < _states.Length; (_delivery, _call) = (_delivery + 1, 0))
            {
                var state = _states[_delivery];
                while (!state.IsHalted && _call < state.Calls.Count)
                {
                    next = (_delivery, (state.First + _call++) % state.Calls.Count);
                    if (!state.IsDone(next.Call))
                        return true;
                }
            }
            while (_throttled.TryDequeue(out next))
            {
                if (!_states[next.Delivery].IsHalted)
                    return true;
            }
            next = default;
            return false;
        }
    }

    public (byte[] Body, string IdempotencyKey) Make((int Delivery, int Call) call)
    {
        var state = _states[call.Delivery];
        return state.Calls.Make(call.Call, state.Delivery.Key.Client, state.Delivery.Breach);
    }

    public void Settle((int Delivery, int Call) call, CallResponse response)
    {
        lock (_lock)
        {
            var state = _states[call.Delivery];
            switch (response.Outcome)
            {
                case CallOutcome.Accepted:
                    state.SetDone(call.Call);
                    break;
                case CallOutcome.Throttled:
                    _throttled.Enqueue(call);
                    break;
                case not CallOutcome.Gone:
                    state.Error = response.Error;
                    state.Failed++;
                    break;
            }
        }
    }

    public void Halt(CallbackKey delivery)
    {
        lock (_lock)
        {
            foreach (var state in _states.Where(one => one.Delivery.Key == delivery))
                state.IsHalted = true;
        }
    }

    public IReadOnlyList<CallbackResult> TakeChanged()
    {
        lock (_lock)
        {
            var changed = _states.Where(state => state.HasChanged).ToList();
            changed.ForEach(state => state.HasChanged = false);
            return [.. changed.Select(state => state.Result(CallbackState.Open))];
        }
    }

    public IReadOnlyList<CallbackResult> Results(Func<int, TimeSpan> pauseOf)
    {
        lock (_lock)
        {
            return [.. _states.Select(state =>
                state.Answered == state.Calls.Count ? state.Result(CallbackState.Done)
                : state.Error is { } error ? state.Result(CallbackState.Open) with
                {
                    Error = error,
                    // Calls left untried when the turn ended don't wait for the failed ones, unless this turn had nothing accepted.
                    Pause = state.Answered + state.Failed == state.Calls.Count || state.Answered == state.Delivery.Answered
                        ? pauseOf(state.Delivery.Deferrals) : null,
                }
                : state.Result(CallbackState.Open))];
        }
    }

    private sealed class State
    {
        private readonly byte[] _done;

        public State(CallbackDelivery delivery, CallList calls, int first)
        {
            (Delivery, Calls, First) = (delivery, calls, first);
            var length = (calls.Count + 7) / 8;
            _done = delivery.Done is { } done && done.Length == length ? [.. done] : new byte[length];
            Answered = _done.Sum(bits => BitOperations.PopCount(bits));
        }

        public CallbackDelivery Delivery { get; }
        public CallList Calls { get; }
        public int First { get; }
        public int Answered { get; private set; }
        public int Failed { get; set; }
        public bool HasChanged { get; set; }
        public bool IsHalted { get; set; }
        public string? Error { get; set; }

        public bool IsDone(int call) => (_done[call / 8] >> (call % 8) & 1) != 0;

        public void SetDone(int call)
        {
            _done[call / 8] |= (byte)(1 << (call % 8));
            Answered++;
            HasChanged = true;
        }

        public CallbackResult Result(CallbackState state) => new(Delivery.Key, [.. _done], Answered, state);
    }
}
