# SPDX-License-Identifier: Apache-2.0
@0xc35d8e4a91b7f026;

using Common = import "common.capnp";
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("codeq::schema");

# Messages about the coordinators of a cluster: of operators, and of gateways to coordinators.

struct ClusterRequest {
  # Read the state of the cluster, or change where its shards are served. Reply: ClusterReply with
  # the same number. It takes the token of an admin of all tenants; for `show` a reader's will do.
  number @0 :UInt64;
  union {
    show @1 :Void;
    move @2 :Move;
    # Have another coordinator serve a shard of which it has a copy in sync. The reply to a change
    # comes when etcd has stored it, before it is carried out.
    drain @3 :Text;
    # Move all shards and copies away from this node, for good.
    undrain @4 :Text;
    # The node gets shards and copies again.
    balance @5 :Void;
    # Forget all moves: shards are spread evenly again.
    forcePrimary @7 :ForcePrimary;
    # Serve a shard yourself although your copy may lack what was acknowledged.
  }
  operation @6 :UInt64;
  # Identity of a change, random: a request that repeats it is answered as the first one, and
  # changes nothing more. 0: none.

  struct Move {
    shard @0 :UInt16;
    node @1 :Text;
  }

  struct ForcePrimary {
    shard @0 :UInt16;
    node @1 :Text;
    # The coordinator that is asked; others refuse.
    confirm @2 :Text;
    # The words of the loss, which a refusal tells.
  }
}

struct ClusterReply {
  # The cluster as I know it: from etcd, and from what the copies of the shards that I serve have
  # confirmed.
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why I cannot tell, or changed nothing; ignore the other fields.
  name @3 :Text;
  node @4 :Text;
  # This coordinator.
  copies @5 :UInt32;
  # Number of copies that each shard is to have.
  minInSync @6 :UInt32;
  nodes @7 :List(Node);
  # By name; also those that are missing.
  shards @8 :List(Shard);
  # By number.

  struct Node {
    name @0 :Text;
    address @1 :Text;
    httpAddress @2 :Text;
    zone @3 :Text;
    # The last three of a node that is missing are those that I have learnt before; empty: none.
    present @4 :Bool;
    # It keeps its lease in etcd.
    draining @5 :Bool;
    freeBytes @6 :UInt64;
    etcdSilentMs @7 :Int64;
    # Only of the node that answers: for how long etcd has not answered it; 0: it answers.
    unreached @8 :List(Text);
    # Only of the node that answers: the other nodes that are present, by name, to which it has no
    # connection.
    refusesTasks @9 :Bool;
    # Its disk has too little space for new tasks.
  }

  struct Shard {
    shard @0 :UInt16;
    primary @1 :Text;
    # Name of the node.
    served @2 :Bool;
    # I am the primary, and serve it.
    epoch @3 :UInt32;
    copies @4 :List(Copy);
    # By node; also those that are to be made.
    waitsFor @5 :Text;
    # Empty: nothing.
    pinned @6 :Text;
    # The node to which an operator has moved the shard, until the next `balance`, or until that
    # node is drained; empty: none.
  }

  struct Copy {
    node @0 :Text;
    inSync @1 :Bool;
    known @2 :Bool;
    # I know the following fields.
    epoch @3 :UInt32;
    position @4 :UInt64;
    # The last change of the shard that the copy has.
    lag @5 :UInt64;
    # Number of changes of the primary that the copy has not confirmed; 0 for the primary's own.
  }
}

struct ActingFor {
  # From the gateway of another coordinator, in front of a request that changes something: who has
  # asked it for the change, for the audit log. Counts for the next request only.
  subject @0 :Text;
  tenant @1 :Text;
  # They are those of the token; both are empty in a single-user setup.
  remote @2 :Text;
  # Address of the client.
  audited @3 :Bool;
  operation @4 :UInt64;
  # Requests with the same number are parts of one command.
}
