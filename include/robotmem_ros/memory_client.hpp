// Call a memory node from C++: futures with deadlines, in any executor and in callbacks. Needs C++17 and rclcpp.
#ifndef ROBOTMEM_ROS__MEMORY_CLIENT_HPP_
#define ROBOTMEM_ROS__MEMORY_CLIENT_HPP_

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "robotmem_ros/srv/add_tag.hpp"
#include "robotmem_ros/srv/approach.hpp"
#include "robotmem_ros/srv/consolidate.hpp"
#include "robotmem_ros/srv/doctor.hpp"
#include "robotmem_ros/srv/end_session.hpp"
#include "robotmem_ros/srv/forget.hpp"
#include "robotmem_ros/srv/get_data.hpp"
#include "robotmem_ros/srv/get_events.hpp"
#include "robotmem_ros/srv/get_memories.hpp"
#include "robotmem_ros/srv/learn.hpp"
#include "robotmem_ros/srv/list.hpp"
#include "robotmem_ros/srv/list_tags.hpp"
#include "robotmem_ros/srv/look.hpp"
#include "robotmem_ros/srv/object_history.hpp"
#include "robotmem_ros/srv/recall.hpp"
#include "robotmem_ros/srv/remove_tag.hpp"
#include "robotmem_ros/srv/rename_tag.hpp"
#include "robotmem_ros/srv/restore.hpp"
#include "robotmem_ros/srv/save_perception.hpp"
#include "robotmem_ros/srv/start_session.hpp"
#include "robotmem_ros/srv/timeline.hpp"
#include "robotmem_ros/srv/update.hpp"
#include "robotmem_ros/srv/watch.hpp"

namespace robotmem_ros
{

/// The memory could not do what was asked for: what() names the field, its value and what would be right.
class MemoryError : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/// A service was not there, or did not respond, in time; whether it did what was asked for is not known then.
class NoAnswerError : public MemoryError
{
public:
  using MemoryError::MemoryError;
};

/// Request for the perception with a label that is nearest to the origin of a frame: that of the robot.
/**
 * \param label Label of the perception; if it is empty, it may have any or none.
 */
inline srv::Recall::Request nearest(const std::string & label, const std::string & frame_id = "base_link")
{
  srv::Recall::Request request;
  request.n = 1;
  if (!label.empty()) {
    request.labels.push_back(label);
  }
  request.spatial_sort.resize(1);
  request.spatial_sort[0].target.header.frame_id = frame_id;
  return request;
}

/// The services of a memory node, with the requests and responses of the .srv files.
/**
 * A hidden node with a thread of its own takes the responses. So a future may be waited for everywhere: in a callback
 * of the program's node, with any executor, before it spins, in several threads. Each is done at its deadline: get()
 * returns a response that succeeded, or throws MemoryError.
 */
class MemoryClient
{
public:
  using Seconds = std::chrono::duration<double>;
  template<class Service>
  using Answer = std::future<typename Service::Response>;

  /**
   * \param node Node of the program, or its LifecycleNode: its context, namespace and remappings are used.
   * \param name The memory node, in the namespace of `node` unless it begins with a slash.
   * \param timeout Seconds that a call waits for its service and the response together.
   */
  template<class NodeType>
  explicit MemoryClient(NodeType & node, const std::string & name = "memory", Seconds timeout = Seconds(5.0))
  : MemoryClient(node.get_node_base_interface(), name, timeout) {}

  MemoryClient(
    const rclcpp::node_interfaces::NodeBaseInterface::SharedPtr & node, const std::string & name, Seconds timeout)
  : timeout_(timeout), context_(node->get_context())
  {
    rclcpp::NodeOptions options;
    options.context(context_).use_global_arguments(false).enable_rosout(false);
    options.start_parameter_services(false).start_parameter_event_publisher(false);
    own_ = std::make_shared<rclcpp::Node>(
      "_" + std::string(node->get_name()) + "_memory_client", node->get_namespace(), options);
    // All at once, since each takes its time to find its service.
    std::apply([&](auto & ... client) {(create(*node, name, client), ...);}, clients_);
    create(*node, name, greeter_);
    rclcpp::ExecutorOptions executor_options;
    executor_options.context = context_;
    executor_ = std::make_unique<rclcpp::executors::SingleThreadedExecutor>(executor_options);
    executor_->add_node(own_);
    thread_ = std::thread([this]() {run();});
  }

  MemoryClient(const MemoryClient &) = delete;
  MemoryClient & operator=(const MemoryClient &) = delete;

  /// Leave the graph; what still waits gets a MemoryError.
  ~MemoryClient()
  {
    closing_ = true;
    wake();
    thread_.join();
  }

  /// Send a request when its service is there, such as `call<srv::Forget>(request)`.
  template<class Service>
  Answer<Service> call(typename Service::Request request) {return call<Service>(std::move(request), timeout_);}

  /// The same with a deadline of its own.
  template<class Service>
  Answer<Service> call(typename Service::Request request, Seconds timeout)
  {
    const auto call = std::make_shared<Call<Service>>(of<Service>(), std::move(request), timeout);
    auto answer = call->promise.get_future();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_closed_) {
      call->fail(std::make_exception_ptr(MemoryError(CLOSED)));
    } else {
      calls_.push_back(call);
      tend();
      wake();
    }
    return answer;
  }

  // The verbs: each has the name of its service.
  Answer<srv::AddTag> add_tag(srv::AddTag::Request request) {return call<srv::AddTag>(std::move(request));}
  Answer<srv::Approach> approach(srv::Approach::Request request) {return call<srv::Approach>(std::move(request));}
  Answer<srv::Consolidate> consolidate(srv::Consolidate::Request request)
  {
    return call<srv::Consolidate>(std::move(request));
  }
  Answer<srv::Doctor> doctor(srv::Doctor::Request request) {return call<srv::Doctor>(std::move(request));}
  Answer<srv::EndSession> end_session(srv::EndSession::Request request)
  {
    return call<srv::EndSession>(std::move(request));
  }
  Answer<srv::Forget> forget(srv::Forget::Request request) {return call<srv::Forget>(std::move(request));}
  Answer<srv::GetData> get_data(srv::GetData::Request request) {return call<srv::GetData>(std::move(request));}
  Answer<srv::GetEvents> get_events(srv::GetEvents::Request request) {return call<srv::GetEvents>(std::move(request));}
  Answer<srv::GetMemories> get_memories(srv::GetMemories::Request request)
  {
    return call<srv::GetMemories>(std::move(request));
  }
  Answer<srv::Learn> learn(srv::Learn::Request request) {return call<srv::Learn>(std::move(request));}
  Answer<srv::List> list(srv::List::Request request) {return call<srv::List>(std::move(request));}
  Answer<srv::ListTags> list_tags(srv::ListTags::Request request) {return call<srv::ListTags>(std::move(request));}
  Answer<srv::Look> look(srv::Look::Request request) {return call<srv::Look>(std::move(request));}
  Answer<srv::ObjectHistory> object_history(srv::ObjectHistory::Request request)
  {
    return call<srv::ObjectHistory>(std::move(request));
  }
  Answer<srv::Recall> recall(srv::Recall::Request request) {return call<srv::Recall>(std::move(request));}
  Answer<srv::RemoveTag> remove_tag(srv::RemoveTag::Request request) {return call<srv::RemoveTag>(std::move(request));}
  Answer<srv::RenameTag> rename_tag(srv::RenameTag::Request request) {return call<srv::RenameTag>(std::move(request));}
  Answer<srv::Restore> restore(srv::Restore::Request request) {return call<srv::Restore>(std::move(request));}
  Answer<srv::SavePerception> save_perception(srv::SavePerception::Request request)
  {
    return call<srv::SavePerception>(std::move(request));
  }
  Answer<srv::StartSession> start_session(srv::StartSession::Request request)
  {
    return call<srv::StartSession>(std::move(request));
  }
  Answer<srv::Timeline> timeline(srv::Timeline::Request request) {return call<srv::Timeline>(std::move(request));}
  Answer<srv::Update> update(srv::Update::Request request) {return call<srv::Update>(std::move(request));}

private:
  using Clock = std::chrono::steady_clock;
  template<class Service>
  using Client = typename rclcpp::Client<Service>::SharedPtr;

  static constexpr auto CLOSED = "the client is closed, or rclcpp was shut down";
  static constexpr std::chrono::milliseconds SEARCH{20};  // between two looks for a service that is not there yet

  struct Pending
  {
    explicit Pending(Seconds timeout)
    : seconds(timeout), ends(Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout)) {}

    virtual ~Pending() = default;
    virtual const rclcpp::ClientBase & client() const = 0;
    virtual void send() = 0;
    virtual void fail(std::exception_ptr error) = 0;
    virtual void forget() = 0;

    const Seconds seconds;
    const Clock::time_point ends;
    bool is_sent = false;
    std::atomic<bool> is_done{false};
  };

  template<class Service>
  struct Call : Pending, std::enable_shared_from_this<Call<Service>>
  {
    Call(Client<Service> client, typename Service::Request request, Seconds timeout)
    : Pending(timeout), client_(client),
      request_(std::make_shared<typename Service::Request>(std::move(request))) {}

    const rclcpp::ClientBase & client() const override {return *client_;}

    void send() override
    {
      this->is_sent = true;
      const auto take = [self = this->shared_from_this()](typename rclcpp::Client<Service>::SharedFuture future) {
          self->take(*future.get());
        };
      request_id_ = client_->async_send_request(request_, take).request_id;
    }

    void take(const typename Service::Response & response)
    {
      if (!response.success) {
        fail(std::make_exception_ptr(MemoryError(response.error)));
      } else if (!this->is_done.exchange(true)) {
        promise.set_value(response);
      }
    }

    void forget() override {client_->remove_pending_request(request_id_);}

    void fail(std::exception_ptr error) override
    {
      if (!this->is_done.exchange(true)) {
        promise.set_exception(error);
      }
    }

    std::promise<typename Service::Response> promise;

private:
    Client<Service> client_;
    std::shared_ptr<typename Service::Request> request_;
    int64_t request_id_ = 0;
  };

  template<class Service>
  void create(
    rclcpp::node_interfaces::NodeBaseInterface & node, const std::string & name,
    std::shared_ptr<rclcpp::Client<Service>> & client)
  {
    const auto resolved = node.resolve_topic_or_service_name(name + "/" + name_of<Service>(), true);
    client = own_->create_client<Service>(resolved, rclcpp::QoS(1000));
  }

  // A service has the name of its type: "add_tag" for "robotmem_ros/srv/AddTag".
  template<class Service>
  static std::string name_of()
  {
    const std::string type = rosidl_generator_traits::name<Service>();
    std::string name;
    for (const unsigned char letter : type.substr(type.rfind('/') + 1)) {
      if (std::isupper(letter) && !name.empty()) {
        name += '_';
      }
      name += static_cast<char>(std::tolower(letter));
    }
    return name;
  }

  template<class Service>
  Client<Service> & of() {return std::get<Client<Service>>(clients_);}

  // End the turn of the thread, which has more to do.
  void wake() {own_->get_node_base_interface()->trigger_notify_guard_condition();}

  void run()
  {
    while (!closing_ && context_->is_valid()) {
      try {
        executor_->spin_once(next_turn());
      } catch (const std::exception &) {  // the context was shut down within the turn
        break;
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closed_ = true;
    for (const auto & call : calls_) {
      call->fail(std::make_exception_ptr(MemoryError(CLOSED)));
    }
    calls_.clear();
  }

  // Tend the calls, and return the time until there is more to do.
  std::chrono::nanoseconds next_turn()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tend();
    std::chrono::nanoseconds turn = std::chrono::seconds(1);
    for (const auto & call : calls_) {
      const std::chrono::nanoseconds rest = call->ends - Clock::now();
      turn = std::min(turn, call->is_sent ? rest : std::min<std::chrono::nanoseconds>(rest, SEARCH));
    }
    return std::max(turn, std::chrono::nanoseconds(0));  // less than 0 would be for ever
  }

  // Send what can be sent, and fail what is too late; the mutex is locked.
  void tend()
  {
    const auto now = Clock::now();
    for (const auto & call : calls_) {
      if (!call->is_sent && may_send(call->client(), now)) {
        call->send();
      }
      if (call->ends <= now && !call->is_done) {
        give_up(*call);
      }
    }
    const auto is_done = [](const auto & call) {return call->is_done.load();};
    calls_.erase(std::remove_if(calls_.begin(), calls_.end(), is_done), calls_.end());
  }

  // A service is found before it has found the client, whose response would be lost then. What is created later is
  // found later: a response to the greeter means that all clients are known. An error means that the node still starts.
  bool may_send(const rclcpp::ClientBase & client, Clock::time_point now)
  {
    if (!client.service_is_ready()) {
      is_met_ = false;
      return false;
    }
    if (!is_met_ && now - greeted_ >= std::chrono::milliseconds(500) && greeter_->service_is_ready()) {
      greeted_ = now;
      greeter_->async_send_request(
        std::make_shared<srv::GetMemories::Request>(),
        [this](rclcpp::Client<srv::GetMemories>::SharedFuture future) {
          const std::lock_guard<std::mutex> lock(mutex_);
          is_met_ = future.get()->success;
          trouble_ = future.get()->error;
        });
    }
    return is_met_;
  }

  void give_up(Pending & call)
  {
    is_met_ = false;
    const bool is_there = call.client().service_is_ready();
    std::ostringstream problem;
    problem << call.client().get_service_name() << (is_there || call.is_sent ? ": no answer" : ": no such service") <<
      " within " << call.seconds.count() << " s";
    const std::string why = call.is_sent && !is_there ? "it is gone" :
      !is_there ? missing(call.client()) : greeter_->service_is_ready() ? trouble_ : missing(*greeter_);
    if (!why.empty()) {
      problem << ": " << why;
    }
    call.fail(std::make_exception_ptr(NoAnswerError(problem.str())));
    if (call.is_sent) {
      call.forget();
    }
  }

  // A service is found only if its type is the same, to the last field.
  std::string missing(const rclcpp::ClientBase & client) const
  {
    const std::string name = client.get_service_name();
    return own_->count_services(name) == 0 ? "is the memory node running?" :
           name + " has another type: is its node of another version of robotmem_ros?";
  }

  const Seconds timeout_;
  const rclcpp::Context::SharedPtr context_;
  rclcpp::Node::SharedPtr own_;
  std::tuple<
    Client<srv::AddTag>, Client<srv::Approach>, Client<srv::Consolidate>, Client<srv::Doctor>, Client<srv::EndSession>,
    Client<srv::Forget>, Client<srv::GetData>, Client<srv::GetEvents>, Client<srv::GetMemories>, Client<srv::Learn>,
    Client<srv::List>, Client<srv::ListTags>, Client<srv::Look>, Client<srv::ObjectHistory>, Client<srv::Recall>,
    Client<srv::RemoveTag>, Client<srv::RenameTag>, Client<srv::Restore>, Client<srv::SavePerception>,
    Client<srv::StartSession>, Client<srv::Timeline>, Client<srv::Update>, Client<srv::Watch>> clients_;
  Client<srv::GetMemories> greeter_;
  std::unique_ptr<rclcpp::executors::SingleThreadedExecutor> executor_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::shared_ptr<Pending>> calls_;
  bool is_met_ = false;
  bool is_closed_ = false;
  std::string trouble_;
  Clock::time_point greeted_{};
  std::atomic<bool> closing_{false};
  std::thread thread_;
};

}  // namespace robotmem_ros

#endif  // ROBOTMEM_ROS__MEMORY_CLIENT_HPP_
