// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccountsGas} from "./AccountsGas.sol";
import {BasketsGas} from "./BasketsGas.sol";
import {OrdersGas} from "./OrdersGas.sol";
import {Overhead} from "./Overhead.sol";

/// One world for all of them.
contract GasTest is AccountsGas, BasketsGas, OrdersGas, Overhead {}
