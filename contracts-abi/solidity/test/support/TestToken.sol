// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// An ERC-20 of any decimals with free minting, a blocklist, a pause, and misbehaviours that a test switches on.
/// Misbehaviours apply to transfer and transferFrom alike.
contract TestToken {
    enum Misbehaviour {
        None,
        Reverts, // reverts with a reason
        ReturnsFalse, // moves nothing, returns false
        ReturnsNothing, // moves, returns no data (as some old tokens do)
        LiesTrue, // moves nothing, returns true
        FeeOnTransfer, // the receiver gets 1% less
        Reenters, // calls `hookTarget` with `hookData` before it moves
        BurnsGas, // consumes everything that it is given
        ReturnsBlob, // moves, returns `blobSize` bytes
        RevertsBlob // reverts with `blobSize` bytes
    }

    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public blocked;
    bool public paused;

    Misbehaviour public misbehaviour;
    /// When set, only transfers that touch this address misbehave.
    address public misbehavesFor;
    uint256 public blobSize = 100_000;
    address public hookTarget;
    bytes public hookData;
    bool public hookMustSucceed;
    bool public hookSucceeded;
    bytes public hookResult;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    error Blocked(address who);
    error TokenPaused();
    error Misbehaved();

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function mint(address to, uint256 amount) external {
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function burn(address from, uint256 amount) external {
        totalSupply -= amount;
        balanceOf[from] -= amount;
        emit Transfer(from, address(0), amount);
    }

    function setBlocked(address who, bool on) external {
        blocked[who] = on;
    }

    function setPaused(bool on) external {
        paused = on;
    }

    function setMisbehaviour(Misbehaviour kind) external {
        misbehaviour = kind;
        misbehavesFor = address(0);
    }

    function setMisbehaviourFor(Misbehaviour kind, address who) external {
        misbehaviour = kind;
        misbehavesFor = who;
    }

    function setBlobSize(uint256 size) external {
        blobSize = size;
    }

    function setHook(address target, bytes calldata payload, bool mustSucceed) external {
        hookTarget = target;
        hookData = payload;
        hookMustSucceed = mustSucceed;
        hookSucceeded = false;
        delete hookResult;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return _transfer(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - amount;
        return _transfer(from, to, amount);
    }

    function _transfer(address from, address to, uint256 amount) private returns (bool) {
        if (paused) revert TokenPaused();
        if (blocked[from]) revert Blocked(from);
        if (blocked[to]) revert Blocked(to);
        Misbehaviour kind = misbehaviour;
        address only = misbehavesFor;
        if (kind == Misbehaviour.None || (only != address(0) && only != from && only != to)) {
            _move(from, to, amount);
            return true;
        }
        if (kind == Misbehaviour.Reverts) revert Misbehaved();
        if (kind == Misbehaviour.ReturnsFalse) return false;
        if (kind == Misbehaviour.LiesTrue) return true;
        if (kind == Misbehaviour.BurnsGas) {
            assembly ("memory-safe") {
                invalid()
            }
        }
        if (kind == Misbehaviour.RevertsBlob) {
            uint256 blob = blobSize;
            assembly ("memory-safe") {
                revert(0, blob)
            }
        }
        if (kind == Misbehaviour.FeeOnTransfer) {
            uint256 tax = amount / 100;
            _move(from, to, amount - tax);
            balanceOf[from] -= tax;
            totalSupply -= tax;
            return true;
        }
        if (kind == Misbehaviour.Reenters && hookTarget != address(0)) _callHook();
        _move(from, to, amount);
        if (kind == Misbehaviour.ReturnsNothing) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        if (kind == Misbehaviour.ReturnsBlob) {
            uint256 blob = blobSize;
            assembly ("memory-safe") {
                mstore(0, 1)
                return(0, blob)
            }
        }
        return true;
    }

    function _callHook() private {
        (address target, bytes memory payload) = (hookTarget, hookData);
        hookTarget = address(0); // once, so that the callee may move this token
        (bool ok, bytes memory result) = target.call(payload);
        hookSucceeded = ok;
        hookResult = result;
        if (hookMustSucceed && !ok) {
            assembly ("memory-safe") {
                revert(add(result, 0x20), mload(result))
            }
        }
    }

    function _move(address from, address to, uint256 amount) private {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }
}

/// Wrapped ether with WETH9's behaviour (npm ships its interface but no bytecode).
contract TestWeth {
    string public constant name = "Wrapped Ether";
    string public constant symbol = "WETH";
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Deposit(address indexed to, uint256 value);
    event Withdrawal(address indexed from, uint256 value);

    receive() external payable {
        deposit();
    }

    function totalSupply() external view returns (uint256) {
        return address(this).balance;
    }

    function deposit() public payable {
        balanceOf[msg.sender] += msg.value;
        emit Deposit(msg.sender, msg.value);
    }

    function withdraw(uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        emit Withdrawal(msg.sender, amount);
        (bool ok,) = msg.sender.call{value: amount}("");
        require(ok, "WETH: send failed");
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return transferFrom(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public returns (bool) {
        if (from != msg.sender && allowance[from][msg.sender] != type(uint256).max) {
            allowance[from][msg.sender] -= amount;
        }
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
        return true;
    }
}
