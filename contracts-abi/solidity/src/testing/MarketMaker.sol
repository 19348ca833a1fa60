// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface IMakerFactory {
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address);
}

interface IMakerPool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function slot0() external view returns (uint160 sqrtPriceX96, int24, uint16, uint16, uint16, uint8, bool);
    function initialize(uint160 sqrtPriceX96) external;
    function increaseObservationCardinalityNext(uint16 next) external;
    function mint(address recipient, int24 lower, int24 upper, uint128 liquidity, bytes calldata data)
        external
        returns (uint256, uint256);
    function burn(int24 lower, int24 upper, uint128 liquidity) external returns (uint256, uint256);
    function swap(
        address recipient,
        bool zeroForOne,
        int256 amount,
        uint160 sqrtPriceLimitX96,
        bytes calldata data
    ) external returns (int256, int256);
}

interface IMakerToken {
    function transfer(address to, uint256 amount) external returns (bool);
}

/// Liquidity provider and trader of test chains: seeds pools, moves their prices, makes them write observations, all
/// from its own inventory and many pools to a transaction. Never deployed to a live chain.
contract MarketMaker {
    address public immutable owner;
    IMakerFactory public immutable factory;
    /// Lasting shift of a token's fair value, x 1e18; zero means none (1e18). The market of the local chain reads it,
    /// so that a push from any process outlives the market's next move.
    mapping(address => uint256) public shift;

    /// The pool that the owner's call is trading with: the only one whose callbacks are paid.
    address private transient _active;

    struct Move {
        address pool;
        address token0;
        address token1;
        uint160 sqrtPriceX96;
    }

    struct Position {
        address pool;
        int24 lower;
        int24 upper;
    }

    error NotOwner();
    error NotPool(address caller);
    error PaymentFailed(address token, uint256 amount);

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner();
        _;
    }

    constructor(address owner_, address factory_) {
        owner = owner_;
        factory = IMakerFactory(factory_);
    }

    /// Creates and initialises a pool. Reverts when it exists.
    function create(address tokenA, address tokenB, uint24 fee, uint160 sqrtPriceX96)
        external
        onlyOwner
        returns (address pool)
    {
        pool = factory.createPool(tokenA, tokenB, fee);
        IMakerPool(pool).initialize(sqrtPriceX96);
    }

    function provide(address pool, int24 lower, int24 upper, uint128 liquidity) external onlyOwner {
        _active = pool;
        IMakerPool(pool)
            .mint(
                address(this),
                lower,
                upper,
                liquidity,
                abi.encode(IMakerPool(pool).token0(), IMakerPool(pool).token1())
            );
        _active = address(0);
    }

    function grow(address pool, uint16 cardinality) external onlyOwner {
        IMakerPool(pool).increaseObservationCardinalityNext(cardinality);
    }

    /// Makes each pool write an observation now without moving its price: v3 pools write when liquidity that is in
    /// range changes, and taking away one unit of it costs nothing.
    function touch(Position[] calldata positions) external onlyOwner {
        for (uint256 i; i < positions.length; i++) {
            IMakerPool(positions[i].pool).burn(positions[i].lower, positions[i].upper, 1);
        }
    }

    /// Trades each pool to exactly the price named (as far as the inventory goes, else reverts).
    function move(Move[] calldata moves) external onlyOwner {
        for (uint256 i; i < moves.length; i++) {
            Move calldata to = moves[i];
            (uint160 current,,,,,,) = IMakerPool(to.pool).slot0();
            if (current == to.sqrtPriceX96) continue;
            _active = to.pool;
            IMakerPool(to.pool)
                .swap(
                    address(this),
                    to.sqrtPriceX96 < current,
                    type(int256).max,
                    to.sqrtPriceX96,
                    abi.encode(to.token0, to.token1)
                );
        }
        _active = address(0);
    }

    function setShift(address token, uint256 factor) external onlyOwner {
        shift[token] = factor;
    }

    function sweep(address token, address to, uint256 amount) external onlyOwner {
        _pay(token, to, amount);
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata data) external {
        _payPool(owed0, owed1, data);
    }

    function uniswapV3SwapCallback(int256 delta0, int256 delta1, bytes calldata data) external {
        // forge-lint: disable-next-line(unsafe-typecast)
        uint256 owed0 = delta0 > 0 ? uint256(delta0) : 0;
        // forge-lint: disable-next-line(unsafe-typecast)
        uint256 owed1 = delta1 > 0 ? uint256(delta1) : 0;
        _payPool(owed0, owed1, data);
    }

    function _payPool(uint256 owed0, uint256 owed1, bytes calldata data) private {
        if (msg.sender != _active) revert NotPool(msg.sender);
        (address token0, address token1) = abi.decode(data, (address, address));
        if (owed0 > 0) _pay(token0, msg.sender, owed0);
        if (owed1 > 0) _pay(token1, msg.sender, owed1);
    }

    function _pay(address token, address to, uint256 amount) private {
        (bool ok, bytes memory result) = token.call(abi.encodeCall(IMakerToken.transfer, (to, amount)));
        if (!ok || (result.length != 0 && !abi.decode(result, (bool)))) revert PaymentFailed(token, amount);
    }
}
